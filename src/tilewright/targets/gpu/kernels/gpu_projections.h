#ifndef TW_GPU_PROJECTIONS_H
#define TW_GPU_PROJECTIONS_H

#include "activation.h"

/* Products of some rows with up to three matrices. Gated: the one result is that of the first, activated, times that of
 * the second. */
typedef struct {
  int32_t rows, inner;
  int32_t columns[3];
  int32_t gated;
  float epsilon;            /* of rows that are normalised */
  tw_activation activation; /* of the gate */
} tw_gpu_projections_params;

#endif
