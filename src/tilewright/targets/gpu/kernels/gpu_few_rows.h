/* Parameters of products of few rows. Distances are counted in elements. */
#ifndef TW_GPU_FEW_ROWS_H
#define TW_GPU_FEW_ROWS_H

#include "activation.h"

/* How columns are shared among groups: `sharing` warps make two of them at a time, and every group as many as others. */
typedef struct {
  int32_t rows, inner, x_row;
  int32_t twos; /* pairs of columns */
  int32_t sharing, groups;
} tw_columns;

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
