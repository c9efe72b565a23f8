/* A product of few rows with a matrix, as fast as the matrix can be read: 32 items of a group share a column of the
 * result, 16 bytes of a row of w at a time, several of them on their way.
 *
 * A kernel defines TW_FACTOR (what x is), TW_WEIGHT, TW_BIAS, TW_R and TW_Y, and how each is read or stored, before. */
#ifndef TW_GPU_FEW_ROWS_KERNEL_H
#define TW_GPU_FEW_ROWS_KERNEL_H

#define TW_GROUP_SIZE 256

#include "gpu.h"
#include "gpu_few_rows.h"
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

TW_GROUP_SHARED(float, tw_sums, [TW_MOST_ROWS * TW_GROUP_SIZE]);

static inline tw_grid grid(const tw_gpu_few_rows_params *p) {
  const tw_grid groups = {(p->columns + TW_COLUMNS - 1) / TW_COLUMNS, 1, 1};
  return groups;
}

/* What one piece adds to the sums of all rows. */
TW_GPU void tw_add_piece(const tw_gpu_few_rows_params *p, const TW_FACTOR *x, const tw_weights *w, float *sum) {
  TW_UNROLL for (int32_t row = 0; row < TW_MOST_ROWS; row++) {
    if (row < p->rows) {
      const tw_elements piece = *(const tw_elements *)(x + (int64_t)row * p->x_row);
      TW_UNROLL for (int32_t i = 0; i < TW_PIECE; i++) sum[row] += TW_FACTOR_LOAD(piece.at[i]) * TW_WEIGHT_LOAD(w->at[i]);
    }
  }
}

/* An item's share of a column's sums. */
TW_GPU void tw_share(const tw_gpu_few_rows_params *p, const TW_FACTOR *x, const TW_WEIGHT *w, int32_t t, float *sum) {
  for (int32_t first = t % TW_LANES * TW_PIECE; first < p->inner; first += TW_LANES * TW_PIECE * TW_AHEAD) {
    tw_weights ahead[TW_AHEAD];
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t at = first + i * TW_LANES * TW_PIECE;
      ahead[i] = *(const tw_weights *)(w + (at < p->inner ? at : first));
    }
    TW_UNROLL for (int32_t i = 0; i < TW_AHEAD; i++) {
      const int32_t at = first + i * TW_LANES * TW_PIECE;
      if (at < p->inner) tw_add_piece(p, x + at, &ahead[i], sum);
    }
  }
}

/* From the sum to the result. */
TW_GPU void tw_end_one(const tw_gpu_few_rows_params *p, const TW_BIAS *bias, const TW_R *r, TW_Y *y, int32_t row,
                       int32_t column, float total) {
  const int64_t at = (int64_t)row * p->y_row + column;
  const tw_activation then = p->then;
  if (bias) total += TW_BIAS_LOAD(bias[row * p->bias_row + column * p->bias_column]);
  tw_activate(&p->activation, &total, 1, 1);
  if (r) total += TW_R_LOAD(r[at]);
  if (then.kind) total = tw_activated(then.kind, then.alpha, then.beta, total);
  y[at] = TW_Y_STORE(total);
}

TW_GPU void tw_few_rows(const tw_gpu_few_rows_params *p, const TW_FACTOR *x, const TW_WEIGHT *w, const TW_BIAS *bias, const TW_R *r,
                      TW_Y *y) {
  const int32_t first = TW_GROUP_X * TW_COLUMNS;
  TW_ITEMS(t) {
    float sum[TW_MOST_ROWS] = {0};
    const int32_t column = first + t / TW_LANES;
    if (column < p->columns) tw_share(p, x, w + (int64_t)column * p->w_row, t, sum);
    TW_UNROLL for (int32_t row = 0; row < TW_MOST_ROWS; row++) tw_sums[row * TW_GROUP_SIZE + t] = sum[row];
  }
  TW_MEET();
  TW_ITEMS(t) {
    const int32_t row = t / TW_COLUMNS, column = first + t % TW_COLUMNS;
    if (row < p->rows && column < p->columns) {
      float total = 0.0f;
      for (int32_t i = 0; i < TW_LANES; i++) {
        total += tw_sums[row * TW_GROUP_SIZE + t % TW_COLUMNS * TW_LANES + (i + t) % TW_LANES];
      }
      tw_end_one(p, bias, r, y, row, column, total);
    }
  }
}

#endif
