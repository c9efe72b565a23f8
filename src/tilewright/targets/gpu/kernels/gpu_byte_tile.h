/* What an item multiplies of two tiles of bytes, on tensor cores where there are any: sums are held as their registers
 * hold them. Of each 16 x 8 part an item has two in row lane / 4 and two eight rows further down, in columns
 * lane % 4 * 2 and the next. With them come the sums of w alone, for images with a zero point. */
#ifndef TW_GPU_BYTE_TILE_H
#define TW_GPU_BYTE_TILE_H

#include "gpu_async.h"
#include "gpu_swizzle.h"

typedef int32_t total_t;
#define TW_MI (TW_TM / TW_WM / 16)
#define TW_NI (TW_TN / TW_WN / 8)
#define TW_SUMS (TW_MI * TW_NI * 4)
#define TW_FACTOR_SUMS (TW_NI * 4)

TW_GPU int32_t tw_sum_row(int32_t t, int32_t i) {
  return t / 32 / TW_WN * (TW_TM / TW_WM) + i / (TW_NI * 4) * 16 + (i & 2) * 4 + t % 32 / 4;
}
TW_GPU int32_t tw_sum_column(int32_t t, int32_t i) {
  return t / 32 % TW_WN * (TW_TN / TW_WN) + i / 4 % TW_NI * 8 + t % 4 * 2 + (i & 1);
}

#if TW_IS_ASYNC

/* Matrices of 8 rows of 16 bytes, a row at the address that each lane gives. */
TW_GPU void tw_load_matrices(uint32_t *r, const TW_LOCAL uint8_t *p) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(tw_local_address(p))
                   : "memory");
}

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

TW_GPU void tw_multiply(int32_t *total, int32_t *factors, int32_t counts_factors, const TW_LOCAL uint8_t *x,
                        const TW_LOCAL uint8_t *w, int32_t t) {
  const int32_t lane = t % 32, warp = t / 32;
  const int32_t first_row = warp / TW_WN * (TW_TM / TW_WM), first_column = warp % TW_WN * (TW_TN / TW_WN);
  const uint32_t ones[4] = {0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u};
  TW_UNROLL for (int32_t byte = 0; byte < TW_ROW_BYTES; byte += 32) {
    uint32_t a[TW_MI][4], b[TW_NI][2];
    TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) {
      tw_load_matrices(a[i], x + tw_place(first_row + i * 16 + lane % 16, byte + lane / 16 * 16));
    }
    TW_UNROLL for (int32_t j = 0; j < TW_NI; j += 2) {
      tw_load_matrices(b[j], w + tw_place(first_column + j * 8 + lane / 16 * 8 + lane % 8, byte + lane / 8 % 2 * 16));
    }
    TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) {
      TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) tw_mma(total + (i * TW_NI + j) * 4, a[i], b[j]);
    }
    if (counts_factors) {
      TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) tw_mma(factors + j * 4, ones, b[j]);
    }
  }
}

#else

TW_GPU void tw_multiply(int32_t *total, int32_t *factors, int32_t counts_factors, const TW_LOCAL uint8_t *x,
                        const TW_LOCAL uint8_t *w, int32_t t) {
  for (int32_t byte = 0; byte < TW_ROW_BYTES; byte++) {
    for (int32_t i = 0; i < TW_SUMS; i++) {
      const int32_t left = *(const TW_LOCAL TW_X *)(x + tw_place(tw_sum_row(t, i), byte));
      total[i] += left * (int8_t)w[tw_place(tw_sum_column(t, i), byte)];
    }
    for (int32_t i = 0; i < TW_FACTOR_SUMS && counts_factors; i++) {
      factors[i] += (int8_t)w[tw_place(tw_sum_column(t, i), byte)];
    }
  }
}

#endif

#endif
