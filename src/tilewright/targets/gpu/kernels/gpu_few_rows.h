/* Parameters of products of few rows. Distances are counted in elements. */
#ifndef TW_GPU_FEW_ROWS_H
#define TW_GPU_FEW_ROWS_H

#include "activation.h"

/* How columns are shared among groups: `sharing` warps make two of them at a time, and every group as many as others. */
typedef struct {
  int32_t rows, inner, x_row;
  int32_t twos; /* pairs of columns */
  int32_t sharing, groups;
  int32_t held; /* rounds whose weights shared memory has at once; all, some, or 0 */
} tw_columns;

enum { TW_FEW_ROWS_WARPS = 4 /* of a group; WARPS in few_rows.py */ };

/* How many pairs of columns the warps that share them have one after the other. */
static inline int32_t tw_rounds(const tw_columns *p) {
  const int32_t at_once = p->groups * (TW_FEW_ROWS_WARPS / p->sharing);
  return (p->twos + at_once - 1) / at_once;
}

/* Of the weights of a group, whose elements have so many. */
static inline int32_t tw_staged_bytes(const tw_columns *p, int32_t element) {
  return tw_rounds(p) * (TW_FEW_ROWS_WARPS / p->sharing) * 2 * p->inner * element;
}

/* What a group has in shared memory where that holds some rounds: x as floats, and weights. */
static inline int32_t tw_held_bytes(const tw_columns *p, int32_t element) {
  return p->inner * 4 + p->held * (TW_FEW_ROWS_WARPS / p->sharing) * 2 * p->inner * element;
}

/* y[rows, columns] = x[rows, inner] * w[columns, inner]. */
typedef struct {
  tw_columns shape;
  int32_t columns;
  int32_t w_row, y_row;          /* from row to row */
  int32_t bias_row, bias_column; /* 0: one for all */
  tw_activation activation;
  tw_activation then; /* of sums with r */
} tw_gpu_few_rows_params;

#endif
