/* Products of few rows with a matrix, as fast as the matrix can be read: 32 items of a group share a column of the
 * result, 16 bytes of a row of w at a time, several of them on their way.
 *
 * A kernel defines TW_FACTOR (what x is) and TW_WEIGHT, and how each is read, before. */
#ifndef TW_GPU_COLUMNS_H
#define TW_GPU_COLUMNS_H

#define TW_GROUP_SIZE 256

#include "gpu.h"
#include "gpu_unroll.h"

enum {
  TW_LANES = 32,
  TW_COLUMNS = TW_GROUP_SIZE / TW_LANES,
  TW_MOST_ROWS = 4, /* MOST_ROWS in few_rows.py */
  TW_AHEAD = 4,
  TW_PIECE = 16 / sizeof(TW_WEIGHT) /* elements */
};

typedef struct {
  TW_WEIGHT at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_weights;

typedef struct {
  TW_FACTOR at[TW_PIECE];
} __attribute__((aligned(sizeof(TW_FACTOR) * TW_PIECE < 16 ? 8 : 16), may_alias)) tw_elements;

typedef struct {
  float at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_scales;

TW_GROUP_SHARED(float, tw_sums, [TW_MOST_ROWS * TW_GROUP_SIZE]);

/* What one piece adds to the sums of all rows; where elements are scaled, the sums of their squares too. */
TW_GPU void tw_add_piece(int32_t rows, int32_t x_row, const TW_FACTOR *x, const float *scale, const tw_weights *w,
                         float *sum, float *squares) {
  tw_scales scales;
  if (scale) scales = *(const tw_scales *)scale;
  TW_UNROLL for (int32_t row = 0; row < TW_MOST_ROWS; row++) {
    if (row < rows) {
      const tw_elements piece = *(const tw_elements *)(x + (int64_t)row * x_row);
      TW_UNROLL for (int32_t i = 0; i < TW_PIECE; i++) {
        const float value = TW_FACTOR_LOAD(piece.at[i]);
        sum[row] += (scale ? value * scales.at[i] : value) * TW_WEIGHT_LOAD(w->at[i]);
        if (scale) squares[row] += value * value;
      }
    }
  }
}

/* An item's share of the sums of a column, whose weights begin at w. */
TW_GPU void tw_share(int32_t rows, int32_t inner, int32_t x_row, const TW_FACTOR *x, const float *scale,
                     const TW_WEIGHT *w, int32_t t, float *sum, float *squares) {
  for (int32_t first = t % TW_LANES * TW_PIECE; first < inner; first += TW_LANES * TW_PIECE * TW_AHEAD) {
    tw_weights ahead[TW_AHEAD];
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t at = first + i * TW_LANES * TW_PIECE;
      ahead[i] = *(const tw_weights *)(w + (at < inner ? at : first));
    }
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t at = first + i * TW_LANES * TW_PIECE;
      if (at < inner) tw_add_piece(rows, x_row, x + at, scale ? scale + at : NULL, &ahead[i], sum, squares);
    }
  }
}

/* The sum of what the items of a column have left in `sums`. */
TW_GPU float tw_column_sum(const TW_LOCAL float *sums, int32_t row, int32_t column) {
  float total = 0.0f;
  for (int32_t i = 0; i < TW_LANES; i++) {
    total += sums[row * TW_GROUP_SIZE + column * TW_LANES + (i + column) % TW_LANES];
  }
  return total;
}

#endif
