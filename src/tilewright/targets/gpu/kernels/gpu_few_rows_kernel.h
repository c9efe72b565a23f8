/* A product of few rows with a matrix. A kernel defines what gpu_columns.h asks for, TW_BIAS, TW_R and TW_Y before. */
#ifndef TW_GPU_FEW_ROWS_KERNEL_H
#define TW_GPU_FEW_ROWS_KERNEL_H

#define TW_EARLY 2 /* w */
#include "gpu_columns.h"
#include "gpu_few_rows.h"

static inline tw_grid grid(const tw_gpu_few_rows_params *p) {
  const tw_grid groups = {(p->columns + TW_COLUMNS - 1) / TW_COLUMNS, 1, 1};
  return groups;
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

TW_GPU void tw_few_rows(const tw_gpu_few_rows_params *p, const TW_FACTOR *x, const TW_WEIGHT *w, const TW_BIAS *bias,
                        const TW_R *r, TW_Y *y) {
  const int32_t first = TW_GROUP_X * TW_COLUMNS;
  TW_ITEM_OWN(tw_weights, ahead, [TW_AHEAD]);
  TW_LET_OTHERS();
  TW_ITEMS(t) {
    const int32_t column = first + t / TW_LANES;
    tw_fetch(ahead[TW_OWN(t)], column < p->columns ? w + (int64_t)column * p->w_row : w, p->inner,
             t % TW_LANES * TW_PIECE);
  }
  TW_AFTER_OTHERS();
  TW_ITEMS(t) {
    float sum[TW_MOST_ROWS] = {0}, none[TW_MOST_ROWS];
    const int32_t column = first + t / TW_LANES;
    if (column < p->columns) {
      tw_share(ahead[TW_OWN(t)], p->rows, p->inner, p->x_row, x, NULL, w + (int64_t)column * p->w_row, t, sum, none);
    }
    TW_UNROLL for (int32_t row = 0; row < TW_MOST_ROWS; row++) tw_sums[row * TW_GROUP_SIZE + t] = sum[row];
  }
  TW_MEET();
  TW_ITEMS(t) {
    const int32_t row = t / TW_COLUMNS, column = first + t % TW_COLUMNS;
    if (row < p->rows && column < p->columns) {
      tw_end_one(p, bias, r, y, row, column, tw_column_sum(tw_sums, row, t % TW_COLUMNS));
    }
  }
}

#endif
