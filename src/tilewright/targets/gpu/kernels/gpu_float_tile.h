/* What an item multiplies of two tiles of floats: every TW_DOWN-th row and TW_ALONG-th column, four steps at once. */
#ifndef TW_GPU_FLOAT_TILE_H
#define TW_GPU_FLOAT_TILE_H

#include "gpu_swizzle.h"

typedef float total_t;
#define TW_ALONG (TW_TN >= 64 && TW_TEAM > 32 ? 16 : 8)
#define TW_DOWN (TW_TEAM / TW_ALONG)
#define TW_MI (TW_TM / TW_DOWN)
#define TW_NI (TW_TN / TW_ALONG)
#define TW_SUMS (TW_MI * TW_NI)

typedef struct {
  float at[4];
} __attribute__((aligned(16), may_alias)) tw_four_steps;

TW_GPU int32_t tw_sum_row(int32_t t, int32_t i) { return t % TW_TEAM / TW_ALONG + i / TW_NI * TW_DOWN; }
TW_GPU int32_t tw_sum_column(int32_t t, int32_t i) { return t % TW_ALONG + i % TW_NI * TW_ALONG; }

TW_GPU tw_four_steps tw_steps_at(const TW_LOCAL uint8_t *tile, int32_t row, int32_t byte) {
  return *(const TW_LOCAL tw_four_steps *)(tile + tw_place(row, byte));
}

TW_GPU void tw_multiply(float *total, const TW_LOCAL uint8_t *x, const TW_LOCAL uint8_t *w, int32_t t) {
  TW_UNROLL for (int32_t first = 0; first < TW_ROW_BYTES; first += TW_SLICES * TW_PIECE_BYTES) {
    const int32_t byte = first + tw_slice(t) * TW_PIECE_BYTES;
    tw_four_steps a[TW_MI], b[TW_NI];
    TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) a[i] = tw_steps_at(x, tw_sum_row(t, i * TW_NI), byte);
    TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) b[j] = tw_steps_at(w, tw_sum_column(t, j), byte);
    TW_UNROLL for (int32_t k = 0; k < 4; k++) {
      TW_UNROLL for (int32_t i = 0; i < TW_MI; i++) {
        TW_UNROLL for (int32_t j = 0; j < TW_NI; j++) total[i * TW_NI + j] += a[i].at[k] * b[j].at[k];
      }
    }
  }
}

#endif
