#ifndef TW_GPU_PROJECTIONS_H
#define TW_GPU_PROJECTIONS_H

#include "gpu_few_rows.h"

/* Products of some rows with up to three matrices. Gated: the one result is that of the first, activated, times that of
 * the second, and a pair of columns is one of each. */
typedef struct {
  tw_columns shape;
  int32_t columns[3];
  int32_t w_row; /* from row to row of a matrix, in its elements */
  int32_t gated;
  float epsilon;            /* of rows that are normalised */
  tw_activation activation; /* of the gate */
} tw_gpu_projections_params;

#endif
