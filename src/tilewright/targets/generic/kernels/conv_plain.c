/* Convolution of integers of any width, int32 totals with wrap-around, optionally requantised. */
#ifndef TW_NAME
#define TW_NAME tw_conv_plain
#define TW_X int16_t
#define TW_W int16_t
#define TW_Y int32_t
#endif

#include "conv.h"
#include "conv_store.h"

/* The sum of products of one filter at one output position. */
static uint32_t window(const tw_conv_params *p, const TW_X *x, const TW_W *w, int32_t out_y, int32_t out_x) {
  uint32_t sum = 0;
  for (int32_t c = 0; c < p->in_channels; c++) {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
      if (in_y < 0 || in_y >= p->in_h) continue;
      const TW_X *row = x + (c * p->in_h + in_y) * p->in_w;
      const TW_W *taps = w + (c * p->kernel_h + r) * p->kernel_w;
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
        if (in_x < 0 || in_x >= p->in_w) continue;
        sum += ((uint32_t)row[in_x] - (uint32_t)p->x_zero) * ((uint32_t)taps[s] - (uint32_t)p->w_zero);
      }
    }
  }
  return sum;
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  const int32_t in_group = params->in_channels * params->in_h * params->in_w;
  const int32_t length = params->in_channels * params->kernel_h * params->kernel_w;
  for (int32_t image = 0; image < params->batch * params->groups; image++) {
    for (int32_t f = 0; f < params->out_channels; f++) {
      const int32_t filter = image % params->groups * params->out_channels + f;
      const uint32_t start = (uint32_t)tw_conv_bias(params, b, filter);
      for (int32_t i = 0; i < params->out_h * params->out_w; i++) {
        const uint32_t total = start + window(params, x + image * in_group, w + filter * length, i / params->out_w,
                                              i % params->out_w);
        tw_conv_store(params, mul, add, filter, &total, y++, 1);
      }
    }
  }
}
