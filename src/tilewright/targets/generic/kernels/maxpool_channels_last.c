/* The largest element of each window, all channels of a pixel at a time. */
#include "pool.h"

#ifndef TW_NAME
#define TW_NAME tw_maxpool_channels_last
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "larger.h"

static void one_pixel(const tw_pool_params *p, const TW_X *image, int32_t out_y, int32_t out_x, TW_Y *restrict y) {
  for (int32_t c = 0; c < p->channels; c++) y[c] = TW_LOWEST;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    if (in_y < 0 || in_y >= p->in_h) continue;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      if (in_x < 0 || in_x >= p->in_w) continue;
      const TW_X *restrict x = image + (in_y * p->in_w + in_x) * p->channels;
      for (int32_t c = 0; c < p->channels; c++) y[c] = TW_LARGER(x[c], y[c]);
    }
  }
}

void TW_NAME(const tw_pool_params *params, const TW_X *x, TW_Y *y) {
  for (int32_t image = 0; image < params->batch; image++) {
    for (int32_t i = 0; i < params->out_h * params->out_w; i++) {
      one_pixel(params, x, i / params->out_w, i % params->out_w, y);
      y += params->channels;
    }
    x += params->in_h * params->in_w * params->channels;
  }
}
