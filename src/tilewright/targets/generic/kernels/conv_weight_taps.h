/* Sums of the gradient of a convolution's filters, a tap at a time; channels second. */
#ifndef TW_CONV_WEIGHT_TAPS_H
#define TW_CONV_WEIGHT_TAPS_H

#include "conv_gradient.h"

/* Sums side by side, which compilers keep in registers, and filters that share what is loaded of x. */
#define TW_LANES 8
#define TW_FILTERS 4

typedef struct {
  float lanes[TW_FILTERS][TW_LANES];
} tw_tap_sums;

/* Neighbouring pixels of four filters, `apart` from one filter to the next. */
static void tw_add_run(const float *restrict x, const float *restrict g, int32_t apart, int32_t count,
                       tw_tap_sums *total) {
  tw_tap_sums t = *total;
  int32_t i = 0;
  for (; i + TW_LANES <= count; i += TW_LANES) {
    for (int32_t f = 0; f < TW_FILTERS; f++) {
      for (int32_t lane = 0; lane < TW_LANES; lane++) t.lanes[f][lane] += x[i + lane] * g[f * apart + i + lane];
    }
  }
  for (; i < count; i++) {
    for (int32_t f = 0; f < TW_FILTERS; f++) t.lanes[f][0] += x[i] * g[f * apart + i];
  }
  *total = t;
}

/* The same of pixels that are `step` apart in x, and of any number of filters. */
static void tw_add_some(const float *x, int32_t step, const float *g, int32_t apart, int32_t filters, int32_t count,
                        tw_tap_sums *total) {
  for (int32_t f = 0; f < filters; f++) {
    float *const lanes = total->lanes[f];
    const float *const row = g + f * apart;
    int32_t i = 0;
    for (; step == 1 && i + TW_LANES <= count; i += TW_LANES) {
      for (int32_t lane = 0; lane < TW_LANES; lane++) lanes[lane] += x[i + lane] * row[i + lane];
    }
    for (; i + 2 <= count; i += 2) {
      lanes[0] += x[i * step] * row[i];
      lanes[1] += x[(i + 1) * step] * row[i + 1];
    }
    for (; i < count; i++) lanes[0] += x[i * step] * row[i];
  }
}

/* What one tap of a channel and all elements of some filters' gradients give. */
static void tw_add_tap(const tw_conv_gradient_params *p, const float *x, const float *g, int32_t filters, int32_t r,
                       int32_t s, tw_tap_sums *total) {
  const int32_t down = r * p->dilation_h - p->pad_top, right = s * p->dilation_w - p->pad_left;
  const int32_t apart = p->out_h * p->out_w, step = p->stride_w;
  const tw_range rows = tw_inside(down, p->stride_h, p->in_h, p->out_h);
  const tw_range inside = tw_inside(right, step, p->in_w, p->out_w);
  const int32_t count = inside.end - inside.first, height = rows.end - rows.first;
  if (count <= 0 || height <= 0) return;
  /* Rows without gaps are one. */
  const int is_one = count == p->out_w && p->in_w == p->out_w && step == 1 && p->stride_h == 1;
  x += (rows.first * p->stride_h + down) * p->in_w + inside.first * step + right;
  g += rows.first * p->out_w + inside.first;
  for (int32_t left = is_one ? 1 : height; left > 0; left--, x += p->stride_h * p->in_w, g += p->out_w) {
    const int32_t length = is_one ? count * height : count;
    if (step == 1 && filters == TW_FILTERS) {
      tw_add_run(x, g, apart, length, total);
    } else {
      tw_add_some(x, step, g, apart, filters, length, total);
    }
  }
}

#endif
