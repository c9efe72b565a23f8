/* The largest element of each plane: an item for each. */
#include "global_pool.h"
#include "gpu.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_globalmaxpool
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "gpu_stored.h"
#include "larger.h"

static inline tw_grid grid(const tw_global_pool_params *params) { return tw_items(params->planes); }

TW_GPU void group(const tw_global_pool_params *params, const TW_X *x, TW_Y *y) {
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < params->planes) {
      TW_X_VALUE largest = TW_LOWEST;
      for (int32_t j = 0; j < params->elements; j++) largest = TW_LARGER(TW_X_LOAD(x[i * params->elements + j]), largest);
      y[i] = TW_Y_STORE(largest);
    }
  }
}

TW_GPU_KERNEL(tw_global_pool_params, (const TW_X *x, TW_Y *y), (x, y))
