/* Convolution with few filters in a group: an item for each result. */
#ifndef TW_NAME
#define TW_NAME tw_gpu_conv_direct
#define TW_X float
#define TW_W float
#define TW_B float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "conv.h"
#include "gpu.h"
#include "gpu_conv_finish.h"
#include "gpu_stored.h"
#include "gpu_totals.h"

static inline int32_t results(const tw_conv_params *p) {
  return p->batch * p->groups * p->out_channels * p->out_h * p->out_w;
}

static inline tw_grid grid(const tw_conv_params *params) { return tw_items(results(params)); }

/* The sum of products of one filter at one position. */
TW_GPU total_t window(const tw_conv_params *p, const TW_X *x, const TW_W *w, int32_t out_y, int32_t out_x) {
  const tw_range rows = tw_inside(out_y * p->stride_h - p->pad_top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range columns = tw_inside(out_x * p->stride_w - p->pad_left, p->dilation_w, p->in_w, p->kernel_w);
  total_t total = 0;
  for (int32_t c = 0; c < p->in_channels; c++) {
    for (int32_t r = rows.first; r < rows.end; r++) {
      const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
      for (int32_t s = columns.first; s < columns.end; s++) {
        const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
        total += TW_CENTRED(TW_X_LOAD(x[(c * p->in_h + in_y) * p->in_w + in_x]), p->x_zero) *
                 TW_CENTRED(TW_W_LOAD(w[(c * p->kernel_h + r) * p->kernel_w + s]), p->w_zero);
      }
    }
  }
  return total;
}

TW_GPU void group(const tw_conv_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
                  const int32_t *add, TW_Y *y) {
  const tw_conv_params *const p = params;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < results(p)) {
      const int32_t plane = i / (p->out_h * p->out_w), at = i % (p->out_h * p->out_w);
      const int32_t image = plane / p->out_channels;
      const int32_t filter = image % p->groups * p->out_channels + plane % p->out_channels;
      const TW_X *const from = x + image * p->in_channels * p->in_h * p->in_w;
      const TW_W *const taps = w + filter * p->in_channels * p->kernel_h * p->kernel_w;
      y[i] = finished(p, b, mul, add, filter, window(p, from, taps, at / p->out_w, at % p->out_w));
    }
  }
}

TW_GPU_KERNEL(tw_conv_params,
              (const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul, const int32_t *add, TW_Y *y),
              (x, w, b, mul, add, y))
