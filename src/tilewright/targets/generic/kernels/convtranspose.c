/* Transposed convolution, one row of the result at a time: each input element that reaches the row adds its filter. */
#ifndef TW_NAME
#define TW_NAME tw_convtranspose
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

/* What one row of one input channel adds through one row of taps. */
static void add_row(const tw_conv_params *p, const TW_X *x, const TW_W *w, total_t *total) {
  const int32_t step = p->stride_w;
  for (int32_t s = 0; s < p->kernel_w; s++) {
    const int32_t shift = s * p->dilation_w - p->pad_left;
    const tw_range inside = tw_inside(shift, step, p->out_w, p->in_w);
    const TW_W tap = w[s];
    for (int32_t i = inside.first; i < inside.end; i++) total[i * step + shift] += TW_PRODUCT(p, x[i], tap);
  }
}

/* All that one output row of one filter gets; w is the filter's part of the group's first channel. */
static void add_rows(const tw_conv_params *p, const TW_X *x, const TW_W *w, int32_t out_y, total_t *total) {
  const int32_t in_plane = p->in_h * p->in_w, w_channel = p->out_channels * p->kernel_h * p->kernel_w;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t reached = out_y + p->pad_top - r * p->dilation_h;
    if (reached < 0 || reached % p->stride_h != 0 || reached / p->stride_h >= p->in_h) continue;
    const int32_t in_y = reached / p->stride_h;
    for (int32_t c = 0; c < p->in_channels; c++) {
      add_row(p, x + c * in_plane + in_y * p->in_w, w + c * w_channel + r * p->kernel_w, total);
    }
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  total_t *const total = scratch;
  const int32_t in_group = params->in_channels * params->in_h * params->in_w, out_w = params->out_w;
  const int32_t taps = params->kernel_h * params->kernel_w;
  for (int32_t image = 0; image < params->batch * params->groups; image++) {
    const int32_t group = image % params->groups;
    const TW_W *w_group = w + group * params->in_channels * params->out_channels * taps;
    for (int32_t f = 0; f < params->out_channels; f++) {
      const int32_t filter = group * params->out_channels + f;
      for (int32_t out_y = 0; out_y < params->out_h; out_y++, y += out_w) {
        const total_t start = b ? (total_t)b[filter * params->bias_step] : 0;
        for (int32_t i = 0; i < out_w; i++) total[i] = start;
        add_rows(params, x + image * in_group, w_group + f * taps, out_y, total);
#if TW_X_IS_FLOAT
        (void)mul, (void)add;
        tw_activate(&params->activation, total, out_w, 1);
        for (int32_t i = 0; i < out_w; i++) y[i] = total[i];
#else
        tw_conv_store(params, mul, add, filter, total, y, out_w);
#endif
      }
    }
  }
}
