/* What an item multiplies of two tiles of 16-bit floats, on tensor cores where there are any; sums are floats. */
#ifndef TW_GPU_HALF_TILE_H
#define TW_GPU_HALF_TILE_H

#include "half.h"
#include "gpu_warp_tile.h"

typedef float total_t;
#define TW_MORE_SUMS 1 /* it needs none */
typedef uint16_t __attribute__((may_alias)) tw_bits;

#if TW_IS_ASYNC

#if TW_X_IS_BFLOAT
#define TW_HALF "bf16"
#else
#define TW_HALF "f16"
#endif

TW_GPU void tw_mma(float *c, const uint32_t *a, const uint32_t *b) {
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32." TW_HALF "." TW_HALF
                   ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

TW_GPU void tw_multiply(float *total, float *more, int32_t x_zero, const TW_LOCAL uint8_t *x, const TW_LOCAL uint8_t *w,
                        int32_t t) {
  (void)more, (void)x_zero;
  TW_UNROLL for (int32_t first = 0; first < TW_ROW_BYTES; first += TW_SLICES * TW_MMA_BYTES) {
    tw_factors next;
    tw_load_factors(&next, x, w, first + tw_slice(t) * TW_MMA_BYTES, t);
    TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) {
      TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) tw_mma(total + (i * TW_NI + j) * 4, next.a[i], next.b[j]);
    }
  }
}

#if TW_BY_FOUR_WARPS
#include "gpu_four_warps.h"
#endif

#else

TW_GPU float tw_factor(const TW_LOCAL uint8_t *tile, int32_t row, int32_t byte) {
  return TW_X_LOAD(*(const TW_LOCAL tw_bits *)(tile + tw_place(row, byte)));
}

/* Every row and column of the item's is read once. */
TW_GPU void tw_multiply(float *total, float *more, int32_t x_zero, const TW_LOCAL uint8_t *x, const TW_LOCAL uint8_t *w,
                        int32_t t) {
  (void)more, (void)x_zero;
  for (int32_t byte = 0; byte < TW_ROW_BYTES; byte += 2) {
    if (byte / TW_MMA_BYTES % TW_SLICES != tw_slice(t)) continue;
    float a[TW_MI * 2], b[TW_NI * 2];
    for (int32_t i = 0; i < TW_MI * 2; i++) a[i] = tw_factor(x, tw_sum_row(t, i / 2 * TW_NI * 4 + i % 2 * 2), byte);
    for (int32_t j = 0; j < TW_NI * 2; j++) b[j] = tw_factor(w, tw_sum_column(t, j / 2 * 4 + j % 2), byte);
    for (int32_t i = 0; i < TW_SUMS; i++) {
      total[i] += a[i / (TW_NI * 4) * 2 + i % 4 / 2] * b[i / 4 % TW_NI * 2 + i % 2];
    }
  }
}

#endif

TW_GPU float tw_whole_sum(float total, float more, int32_t x_zero) {
  (void)more, (void)x_zero;
  return total;
}

#endif
