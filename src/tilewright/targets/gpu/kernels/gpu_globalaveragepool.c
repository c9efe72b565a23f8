/* The mean of each plane: a group for each. */
#include "global_pool.h"
#include "gpu_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_globalaveragepool
#endif

static inline tw_grid grid(const tw_global_pool_params *params) {
  const tw_grid groups = {params->planes, 1, 1};
  return groups;
}

TW_GPU void group(const tw_global_pool_params *params, const float *x, float *y) {
  const float mean = tw_row_sum(x + TW_GROUP_X * params->elements, params->elements, 1) / (float)params->elements;
  TW_ITEMS(t) {
    if (t == 0) y[TW_GROUP_X] = mean;
  }
}

TW_GPU_KERNEL(tw_global_pool_params, (const float *x, float *y), (x, y))
