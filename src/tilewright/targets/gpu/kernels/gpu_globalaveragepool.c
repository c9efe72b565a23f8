/* The mean of each plane: a group for each. */
#ifndef TW_NAME
#define TW_NAME tw_gpu_globalaveragepool
#define TW_X float
#define TW_Y float
#endif

#include "global_pool.h"
#include "gpu_rows.h"

static inline tw_grid grid(const tw_global_pool_params *params) {
  const tw_grid groups = {params->planes, 1, 1};
  return groups;
}

TW_GPU void group(const tw_global_pool_params *params, const TW_X *x, TW_Y *y) {
  const float mean = tw_row_sum(x + TW_GROUP_X * params->elements, params->elements, 1) / (float)params->elements;
  TW_ITEMS(t) {
    if (t == 0) y[TW_GROUP_X] = TW_Y_STORE(mean);
  }
}

TW_GPU_KERNEL(tw_global_pool_params, (const TW_X *x, TW_Y *y), (x, y))
