/* The largest element of each window: an item for each result. */
#include "gpu.h"
#include "pool.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_maxpool
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "gpu_stored.h"
#include "larger.h"

static inline int32_t results(const tw_pool_params *p) { return p->batch * p->channels * p->out_h * p->out_w; }

static inline tw_grid grid(const tw_pool_params *params) { return tw_items(results(params)); }

TW_GPU TW_X_VALUE largest(const tw_pool_params *p, const TW_X *plane, int32_t out_y, int32_t out_x) {
  TW_X_VALUE found = TW_LOWEST;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      if (in_y < 0 || in_y >= p->in_h || in_x < 0 || in_x >= p->in_w) continue;
      found = TW_LARGER(TW_X_LOAD(plane[in_y * p->in_w + in_x]), found);
    }
  }
  return found;
}

TW_GPU void group(const tw_pool_params *params, const TW_X *x, TW_Y *y) {
  const int32_t pixels = params->out_h * params->out_w;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(params)) {
      const TW_X *const plane = x + i / pixels * params->in_h * params->in_w;
      y[i] = TW_Y_STORE(largest(params, plane, i % pixels / params->out_w, i % params->out_w));
    }
  }
}

TW_GPU_KERNEL(tw_pool_params, (const TW_X *x, TW_Y *y), (x, y))
