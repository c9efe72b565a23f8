/* The gradient of a convolution's filters: what each tap saw, times the gradient of what it was summed to. */
#include "conv_weight_taps.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad
#endif

/* Channels second: the planes of some filters with each channel's. */
static void by_planes(const tw_conv_gradient_params *p, const float *x, const float *g, int32_t filters, float *y) {
  const int32_t taps = p->kernel_h * p->kernel_w, pitch = p->channels * taps;
  for (int32_t c = 0; c < p->channels; c++, x += p->in_h * p->in_w) {
    for (int32_t tap = 0; tap < taps; tap++, y++) {
      tw_tap_sums total = {{{0.0f}}};
      tw_add_tap(p, x, g, filters, tap / p->kernel_w, tap % p->kernel_w, &total);
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
