/* The gradient of a convolution's operand: each element of g adds its filter to the elements that its window saw. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_input_grad
#endif

/* The row of windows that tap r of them brings to row `in_y`; negative where none does. */
static int32_t window_row(const tw_conv_gradient_params *p, int32_t in_y, int32_t r) {
  const int32_t reached = in_y + p->pad_top - r * p->dilation_h;
  if (reached < 0 || reached % p->stride_h != 0 || reached / p->stride_h >= p->out_h) return -1;
  return reached / p->stride_h;
}

/* What neighbouring windows of four filters, `apart` from one to the next, add to neighbouring pixels. */
static void add_four(const float *restrict g, int32_t apart, const float *w, int32_t pitch, float *restrict y,
                     int32_t count) {
  const float *restrict g1 = g + apart, *restrict g2 = g1 + apart, *restrict g3 = g2 + apart;
  const float w0 = w[0], w1 = w[pitch], w2 = w[2 * pitch], w3 = w[3 * pitch];
  for (int32_t i = 0; i < count; i++) y[i] += g[i] * w0 + g1[i] * w1 + g2[i] * w2 + g3[i] * w3;
}

/* The same of any number of filters, and of pixels that are `step` apart. */
static void add_some(const float *g, int32_t apart, int32_t filters, const float *w, int32_t pitch, float *restrict y,
                     int32_t step, int32_t count) {
  for (int32_t f = 0; f < filters; f++, g += apart, w += pitch) {
    const float tap = *w;
    for (int32_t i = 0; i < count; i++) y[i * step] += g[i] * tap;
  }
}

/* What rows of windows of some filters add to a row of one channel: through one row of taps. */
static void add_row(const tw_conv_gradient_params *p, const float *g, int32_t filters, const float *w, float *y) {
  const int32_t step = p->stride_w, apart = p->out_h * p->out_w, pitch = p->channels * p->kernel_h * p->kernel_w;
  for (int32_t s = 0; s < p->kernel_w; s++) {
    const int32_t shift = s * p->dilation_w - p->pad_left;
    const tw_range inside = tw_inside(shift, step, p->in_w, p->out_w);
    const int32_t first = inside.first, count = inside.end - inside.first;
    if (count <= 0) continue;
    if (step == 1 && filters == 4) {
      add_four(g + first, apart, w + s, pitch, y + first + shift, count);
    } else {
      add_some(g + first, apart, filters, w + s, pitch, y + first * step + shift, step, count);
    }
  }
}

/* Channels second: row by row of each channel. Windows of one tap at every pixel are one long row. */
static void by_planes(const tw_conv_gradient_params *given, const float *g, const float *w, float *y) {
  tw_conv_gradient_params flat = *given;
  const tw_conv_gradient_params *const p = &flat;
  const int32_t taps = p->kernel_h * p->kernel_w, plane = p->out_h * p->out_w;
  const int is_everywhere = p->stride_h == 1 && p->stride_w == 1 && p->pad_top == 0 && p->pad_left == 0;
  if (taps == 1 && is_everywhere && p->in_h == p->out_h && p->in_w == p->out_w) {
    flat.in_w = flat.out_w = plane;
    flat.in_h = flat.out_h = 1;
  }
  for (int32_t c = 0; c < p->channels; c++) {
    for (int32_t in_y = 0; in_y < p->in_h; in_y++, y += p->in_w) {
      for (int32_t i = 0; i < p->in_w; i++) y[i] = 0.0f;
      for (int32_t r = 0; r < p->kernel_h; r++) {
        const int32_t out_y = window_row(p, in_y, r);
        for (int32_t f = 0; out_y >= 0 && f < p->filters; f += 4) {
          add_row(p, g + f * plane + out_y * p->out_w, tw_min(4, p->filters - f),
                  w + (f * p->channels + c) * taps + r * p->kernel_w, y);
        }
      }
    }
  }
}

/* One window adds to one pixel through one tap, all channels of all groups. */
static void add_pixel(const tw_conv_gradient_params *p, const float *g, const float *w, float *y) {
  const int32_t length = p->kernel_h * p->kernel_w * p->channels;
  for (int32_t group = 0; group < p->groups; group++, y += p->channels) {
    for (int32_t f = 0; f < p->filters; f++, g++, w += length) {
      for (int32_t c = 0; c < p->channels; c++) y[c] += *g * w[c];
    }
  }
}

/* Channels last: pixel by pixel. */
static void by_pixels(const tw_conv_gradient_params *p, const float *g, const float *w, float *y) {
  const int32_t channels = p->groups * p->channels, filters = p->groups * p->filters;
  for (int32_t in_y = 0; in_y < p->in_h; in_y++) {
    for (int32_t in_x = 0; in_x < p->in_w; in_x++, y += channels) {
      for (int32_t c = 0; c < channels; c++) y[c] = 0.0f;
      for (int32_t r = 0; r < p->kernel_h; r++) {
        const int32_t out_y = window_row(p, in_y, r);
        for (int32_t s = 0; out_y >= 0 && s < p->kernel_w; s++) {
          const int32_t reached = in_x + p->pad_left - s * p->dilation_w, out_x = reached / p->stride_w;
          if (reached < 0 || reached % p->stride_w != 0 || out_x >= p->out_w) continue;
          add_pixel(p, g + (out_y * p->out_w + out_x) * filters, w + (r * p->kernel_w + s) * p->channels, y);
        }
      }
    }
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *g, const float *w, float *y) {
  const int32_t plane = params->out_h * params->out_w, image = params->in_h * params->in_w;
  const int32_t filter = params->kernel_h * params->kernel_w * params->channels;
  for (int32_t n = 0; n < params->batch; n++) {
    if (params->channels_last) {
      by_pixels(params, g, w, y);
      g += params->groups * params->filters * plane;
      y += params->groups * params->channels * image;
      continue;
    }
    for (int32_t group = 0; group < params->groups; group++) {
      by_planes(params, g, w + group * params->filters * filter, y);
      g += params->filters * plane;
      y += params->channels * image;
    }
  }
}
