/* The mean of each window of images with channels last: an item for each result. */
#include "gpu.h"
#include "pool_count.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_averagepool_last
#define TW_X float
#define TW_Y float
#endif

#include "gpu_stored.h"

static inline int32_t results(const tw_pool_params *p) { return p->batch * p->channels * p->out_h * p->out_w; }

static inline tw_grid grid(const tw_pool_params *params) { return tw_items(results(params)); }

TW_GPU float sum_of(const tw_pool_params *p, const TW_X *channel, int32_t out_y, int32_t out_x) {
  float sum = 0.0f;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      const int32_t is_inside = in_y >= 0 && in_y < p->in_h && in_x >= 0 && in_x < p->in_w;
      if (is_inside) sum += TW_X_LOAD(channel[(in_y * p->in_w + in_x) * p->channels]);
    }
  }
  return sum;
}

TW_GPU void group(const tw_pool_params *params, const TW_X *x, TW_Y *y) {
  const tw_pool_params *const p = params;
  const int32_t pixels = p->out_h * p->out_w;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(p)) {
      const int32_t at = i / p->channels % pixels, image = i / p->channels / pixels;
      const int32_t row = at / p->out_w, column = at % p->out_w;
      const int32_t rows =
          tw_counted(p->count_pads, row * p->stride_h, p->dilation_h, p->kernel_h, p->pad_top, p->in_h, p->pad_bottom);
      const int32_t columns = tw_counted(p->count_pads, column * p->stride_w, p->dilation_w, p->kernel_w, p->pad_left,
                                         p->in_w, p->pad_right);
      const TW_X *const channel = x + image * p->in_h * p->in_w * p->channels + i % p->channels;
      y[i] = TW_Y_STORE(sum_of(p, channel, row, column) / (float)tw_max(rows * columns, 1));
    }
  }
}

TW_GPU_KERNEL(tw_pool_params, (const TW_X *x, TW_Y *y), (x, y))
