/* The largest element of each window of images with channels last: an item for each result. */
#include "gpu.h"
#include "pool.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_maxpool_last
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "gpu_stored.h"
#include "larger.h"

static inline int32_t results(const tw_pool_params *p) { return p->batch * p->channels * p->out_h * p->out_w; }

static inline tw_grid grid(const tw_pool_params *params) { return tw_items(results(params)); }

TW_GPU TW_X_VALUE largest(const tw_pool_params *p, const TW_X *channel, int32_t out_y, int32_t out_x) {
  TW_X_VALUE found = TW_LOWEST;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      if (in_y < 0 || in_y >= p->in_h || in_x < 0 || in_x >= p->in_w) continue;
      found = TW_LARGER(TW_X_LOAD(channel[(in_y * p->in_w + in_x) * p->channels]), found);
    }
  }
  return found;
}

TW_GPU void group(const tw_pool_params *params, const TW_X *x, TW_Y *y) {
  const tw_pool_params *const p = params;
  const int32_t pixels = p->out_h * p->out_w;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(p)) {
      const int32_t at = i / p->channels % pixels, image = i / p->channels / pixels;
      const TW_X *const channel = x + image * p->in_h * p->in_w * p->channels + i % p->channels;
      y[i] = TW_Y_STORE(largest(p, channel, at / p->out_w, at % p->out_w));
    }
  }
}

TW_GPU_KERNEL(tw_pool_params, (const TW_X *x, TW_Y *y), (x, y))
