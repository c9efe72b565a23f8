/* Convolution with channels as the last axis of x, w and y: each pixel of x meets a row of the filter that is as
 * contiguous as it is. Integers wrap around in int32 and may be requantised. */
#ifndef TW_NAME
#define TW_NAME tw_conv_channels_last
#define TW_X int8_t
#define TW_W int8_t
#define TW_B int32_t
#define TW_Y int8_t
#define TW_X_IS_FLOAT 0
#endif

#include "conv.h"

#if TW_X_IS_FLOAT
typedef float total_t;
#define TW_PRODUCT(p, x, w) ((x) * (w))
#else
#include "conv_store.h"
typedef uint32_t total_t;
#define TW_PRODUCT(p, x, w) (((uint32_t)(x) - (uint32_t)(p)->x_zero) * ((uint32_t)(w) - (uint32_t)(p)->w_zero))
#endif

/* The sum of products of one filter at one output position; x starts at the filter's group. */
static total_t window(const tw_conv_params *p, const TW_X *x, const TW_W *w, int32_t out_y, int32_t out_x) {
  const int32_t pixel = p->groups * p->in_channels;
  total_t sum = 0;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    if (in_y < 0 || in_y >= p->in_h) continue;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      if (in_x < 0 || in_x >= p->in_w) continue;
      const TW_X *from = x + (in_y * p->in_w + in_x) * pixel;
      const TW_W *taps = w + (r * p->kernel_w + s) * p->in_channels;
      for (int32_t c = 0; c < p->in_channels; c++) sum += TW_PRODUCT(p, from[c], taps[c]);
    }
  }
  return sum;
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  const int32_t length = params->in_channels * params->kernel_h * params->kernel_w;
  const int32_t filters = params->groups * params->out_channels, pixels = params->out_h * params->out_w;
  const int32_t image = params->groups * params->in_channels * params->in_h * params->in_w;
  for (int32_t i = 0; i < params->batch * pixels; i++) {
    const int32_t out_y = i % pixels / params->out_w, out_x = i % pixels % params->out_w;
    for (int32_t filter = 0; filter < filters; filter++, y++) {
      const TW_X *group = x + i / pixels * image + filter / params->out_channels * params->in_channels;
      total_t total = b ? (total_t)b[filter * params->bias_step] : 0;
      total += window(params, group, w + filter * length, out_y, out_x);
#if TW_X_IS_FLOAT
      (void)mul, (void)add;
      tw_activate(&params->activation, &total, 1, 1);
      *y = total;
#else
      tw_conv_store(params, mul, add, filter, &total, y, 1);
#endif
    }
  }
}
