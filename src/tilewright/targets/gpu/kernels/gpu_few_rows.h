/* Parameters of a product of few rows: y[rows, columns] = x[rows, inner] * w[columns, inner]. Distances are counted in
 * elements. */
#ifndef TW_GPU_FEW_ROWS_H
#define TW_GPU_FEW_ROWS_H

#include "activation.h"

typedef struct {
  int32_t rows, columns, inner;
  int32_t x_row, w_row, y_row;   /* from row to row */
  int32_t bias_row, bias_column; /* 0: one for all */
  tw_activation activation;
  tw_activation then; /* of sums with r */
} tw_gpu_few_rows_params;

#endif
