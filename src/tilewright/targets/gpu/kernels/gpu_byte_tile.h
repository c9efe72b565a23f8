/* What an item multiplies of two tiles of bytes, on tensor cores where there are any. With the sums come those of w
 * alone, for images with a zero point. */
#ifndef TW_GPU_BYTE_TILE_H
#define TW_GPU_BYTE_TILE_H

#include "gpu_warp_tile.h"

typedef int32_t total_t;
#define TW_MORE_SUMS (TW_NI * 4)

#if TW_IS_ASYNC

#define TW_MMA(TYPE)                                                                              \
  __asm__ volatile("mma.sync.aligned.m16n8k32.row.col.s32." TYPE                                  \
                   ".s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"      \
                   : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                               \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

TW_GPU void tw_mma(int32_t *c, const uint32_t *a, const uint32_t *b) {
  if ((TW_X)-1 < 0) {
    TW_MMA("s8");
  } else {
    TW_MMA("u8");
  }
}

TW_GPU void tw_multiply(int32_t *total, int32_t *factors, int32_t x_zero, const TW_LOCAL uint8_t *x,
                        const TW_LOCAL uint8_t *w, int32_t t) {
  const uint32_t ones[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
  TW_UNROLL for (int32_t first = 0; first < TW_ROW_BYTES; first += TW_SLICES * TW_MMA_BYTES) {
    tw_factors next;
    tw_load_factors(&next, x, w, first + tw_slice(t) * TW_MMA_BYTES, t);
    TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) {
      TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) tw_mma(total + (i * TW_NI + j) * 4, next.a[i], next.b[j]);
    }
    if (x_zero) {
      TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) tw_mma(factors + j * 4, ones, next.b[j]);
    }
  }
}

#else

TW_GPU void tw_multiply(int32_t *total, int32_t *factors, int32_t x_zero, const TW_LOCAL uint8_t *x,
                        const TW_LOCAL uint8_t *w, int32_t t) {
  for (int32_t byte = 0; byte < TW_ROW_BYTES; byte++) {
    if (byte / TW_MMA_BYTES % TW_SLICES != tw_slice(t)) continue;
    for (int32_t i = 0; i < TW_SUMS; i++) {
      const int32_t left = *(const TW_LOCAL TW_X *)(x + tw_place(tw_sum_row(t, i), byte));
      total[i] += left * (int8_t)w[tw_place(tw_sum_column(t, i), byte)];
    }
    for (int32_t i = 0; i < TW_MORE_SUMS && x_zero; i++) {
      factors[i] += (int8_t)w[tw_place(tw_sum_column(t, i), byte)];
    }
  }
}

#endif

TW_GPU int32_t tw_whole_sum(int32_t total, int32_t factors, int32_t x_zero) { return total - x_zero * factors; }

#endif
