/* A product of few rows with a matrix. A kernel defines what gpu_columns.h asks for, TW_BIAS, TW_R and TW_Y before. */
#ifndef TW_GPU_FEW_ROWS_KERNEL_H
#define TW_GPU_FEW_ROWS_KERNEL_H

#define TW_EARLY 2 /* w */
#define TW_IS_SCALED 0
#include "gpu_columns.h"
#include "gpu_few_rows_end.h"

struct tw_work {
  const tw_gpu_few_rows_params *p;
  const TW_WEIGHT *w;
  const TW_BIAS *bias;
  const TW_R *r;
  TW_Y *y;
};

static inline tw_grid grid(const tw_gpu_few_rows_params *p) {
  const tw_grid groups = {p->shape.groups, 1, 1};
  return groups;
}

/* Behind the last column it is the last one again. */
TW_GPU tw_two_rows tw_rows_of(const tw_work *work, int32_t two) {
  const int32_t column = 2 * two, other = column + 1 < work->p->columns ? column + 1 : column;
  const tw_two_rows rows = {work->w + (int64_t)column * work->p->w_row, work->w + (int64_t)other * work->p->w_row};
  return rows;
}

TW_GPU void tw_end_one(const tw_work *work, int32_t row, int32_t column, float total) {
  tw_finish(work->p, work->bias, work->r, work->y, row, column, total);
}

TW_GPU void tw_end(const tw_work *work, int32_t two, int32_t row, const tw_two_sums *sums) {
  tw_end_one(work, row, 2 * two, sums->one);
  if (2 * two + 1 < work->p->columns) tw_end_one(work, row, 2 * two + 1, sums->other);
}

TW_GPU void tw_few_rows(const tw_gpu_few_rows_params *p, const TW_FACTOR *x, const TW_WEIGHT *w, const TW_BIAS *bias,
                        const TW_R *r, TW_Y *y) {
  const tw_work work = {p, w, bias, r, y};
  tw_multiply_columns(&p->shape, &work, x, NULL);
}

#endif
