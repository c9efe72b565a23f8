/* The gradient of a convolution's filters: what each tap saw, times the gradient of what it was summed to. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad
#endif

/* Sums side by side, which compilers keep in registers, and filters that share what is loaded of x. */
#define TW_LANES 8
#define TW_FILTERS 4

typedef struct {
  float lanes[TW_FILTERS][TW_LANES];
} sums;

/* Neighbouring pixels of four filters, `apart` from one filter to the next. */
static void add_run(const float *restrict x, const float *restrict g, int32_t apart, int32_t count, sums *total) {
  sums t = *total;
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
static void add_some(const float *x, int32_t step, const float *g, int32_t apart, int32_t filters, int32_t count,
                     sums *total) {
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
static void add_tap(const tw_conv_gradient_params *p, const float *x, const float *g, int32_t filters, int32_t r,
                    int32_t s, sums *total) {
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
      add_run(x, g, apart, length, total);
    } else {
      add_some(x, step, g, apart, filters, length, total);
    }
  }
}

/* Channels second: the planes of some filters with each channel's. */
static void by_planes(const tw_conv_gradient_params *p, const float *x, const float *g, int32_t filters, float *y) {
  const int32_t taps = p->kernel_h * p->kernel_w, pitch = p->channels * taps;
  for (int32_t c = 0; c < p->channels; c++, x += p->in_h * p->in_w) {
    for (int32_t tap = 0; tap < taps; tap++, y++) {
      sums total = {{{0.0f}}};
      add_tap(p, x, g, filters, tap / p->kernel_w, tap % p->kernel_w, &total);
      for (int32_t f = 0; f < filters; f++) {
        for (int32_t lane = 0; lane < TW_LANES; lane++) y[f * pitch] += total.lanes[f][lane];
      }
    }
  }
}

/* All filters of all groups. */
static void by_groups(const tw_conv_gradient_params *p, const float *x, const float *g, float *y) {
  const int32_t plane = p->out_h * p->out_w, length = p->channels * p->kernel_h * p->kernel_w;
  for (int32_t group = 0; group < p->groups; group++, x += p->channels * p->in_h * p->in_w) {
    for (int32_t f = 0; f < p->filters; f += TW_FILTERS) {
      const int32_t at = group * p->filters + f;
      by_planes(p, x, g + at * plane, tw_min(TW_FILTERS, p->filters - f), y + at * length);
    }
  }
}

/* What one pixel under one tap gives, all channels of all groups. */
static void add_pixel(const tw_conv_gradient_params *p, const float *x, const float *g, float *y) {
  const int32_t length = p->kernel_h * p->kernel_w * p->channels;
  for (int32_t group = 0; group < p->groups; group++, x += p->channels) {
    for (int32_t f = 0; f < p->filters; f++, g++, y += length) {
      for (int32_t c = 0; c < p->channels; c++) y[c] += *g * x[c];
    }
  }
}

/* Channels last: pixel by pixel. */
static void by_pixels(const tw_conv_gradient_params *p, const float *x, const float *g, float *y) {
  const int32_t channels = p->groups * p->channels, filters = p->groups * p->filters;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t down = r * p->dilation_h - p->pad_top;
    const tw_range rows = tw_inside(down, p->stride_h, p->in_h, p->out_h);
    for (int32_t s = 0; s < p->kernel_w; s++, y += p->channels) {
      const int32_t right = s * p->dilation_w - p->pad_left;
      const tw_range inside = tw_inside(right, p->stride_w, p->in_w, p->out_w);
      for (int32_t row = rows.first; row < rows.end; row++) {
        for (int32_t i = inside.first; i < inside.end; i++) {
          const float *const pixel = x + ((row * p->stride_h + down) * p->in_w + i * p->stride_w + right) * channels;
          add_pixel(p, pixel, g + (row * p->out_w + i) * filters, y);
        }
      }
    }
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y) {
  const int32_t channels = params->groups * params->channels, filters = params->groups * params->filters;
  const int32_t count = filters * params->channels * params->kernel_h * params->kernel_w;
  for (int32_t i = 0; i < count; i++) y[i] = 0.0f;
  for (int32_t n = 0; n < params->batch; n++) {
    if (params->channels_last) {
      by_pixels(params, x, g, y);
    } else {
      by_groups(params, x, g, y);
    }
    x += channels * params->in_h * params->in_w;
    g += filters * params->out_h * params->out_w;
  }
}
