/* How items share two tiles whose rows are parts of the inner dimension, 32 of them (a warp) at a time: TW_WM x TW_WN
 * warps, a team, have the whole tile. Sums are held as tensor cores hold them: of each 16 x 8 part an item has two in row
 * lane / 4 and two eight rows further down, in columns lane % 4 * 2 and the next. */
#ifndef TW_GPU_WARP_TILE_H
#define TW_GPU_WARP_TILE_H

#include "gpu_async.h"
#include "gpu_swizzle.h"

#define TW_MI (TW_TM / TW_WM / 16)
#define TW_NI (TW_TN / TW_WN / 8)
#define TW_SUMS (TW_MI * TW_NI * 4)
/* Bytes of a row that tensor cores multiply at once. */
#define TW_MMA_BYTES 32
/* Whether four warps have 64 whole rows of a tile, which compute capability 9.0 multiplies from shared memory. */
#define TW_BY_FOUR_WARPS (TW_SLICES == 1 && TW_WN == 1 && TW_MI == 1 && TW_WM % 4 == 0 && TW_ROW_BYTES == 128)

TW_GPU int32_t tw_sum_row(int32_t t, int32_t i) {
  return t % TW_TEAM / 32 / TW_WN * (TW_TM / TW_WM) + i / (TW_NI * 4) * 16 + (i & 2) * 4 + t % 32 / 4;
}
TW_GPU int32_t tw_sum_column(int32_t t, int32_t i) {
  return t / 32 % TW_WN * (TW_TN / TW_WN) + i / 4 % TW_NI * 8 + t % 4 * 2 + (i & 1);
}

#if TW_IS_ASYNC

/* Four or two matrices of 8 rows of 16 bytes, a row at the address that each lane gives. */
TW_GPU void tw_load_4_matrices(uint32_t *r, const TW_LOCAL uint8_t *p) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(tw_local_address(p))
                   : "memory");
}
TW_GPU void tw_load_2_matrices(uint32_t *r, const TW_LOCAL uint8_t *p) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                   : "=r"(r[0]), "=r"(r[1])
                   : "r"(tw_local_address(p))
                   : "memory");
}

/* What a warp multiplies next: its rows of x and of w, from one byte on. */
typedef struct {
  uint32_t a[TW_MI][4], b[TW_NI][2];
} tw_factors;

TW_GPU void tw_load_factors(tw_factors *factors, const TW_LOCAL uint8_t *x, const TW_LOCAL uint8_t *w, int32_t byte,
                            int32_t t) {
  const int32_t lane = t % 32, warp = t % TW_TEAM / 32;
  const int32_t first_row = warp / TW_WN * (TW_TM / TW_WM), first_column = warp % TW_WN * (TW_TN / TW_WN);
  TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) {
    tw_load_4_matrices(factors->a[i], x + tw_place(first_row + i * 16 + lane % 16, byte + lane / 16 * 16));
  }
  TW_UNROLL for (int32_t j = 0; j + 1 < TW_NI; j += 2) {
    const int32_t row = first_column + j * 8 + lane / 16 * 8 + lane % 8;
    tw_load_4_matrices(factors->b[j], w + tw_place(row, byte + lane / 8 % 2 * 16));
  }
  if (TW_NI % 2) {
    const int32_t row = first_column + (TW_NI - 1) * 8 + lane % 8;
    tw_load_2_matrices(factors->b[TW_NI - 1], w + tw_place(row, byte + lane / 8 % 2 * 16));
  }
}

#endif

#endif
