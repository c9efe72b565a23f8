/* Convolution of floats with the channels last, where each group has one channel and one filter; all cores together.
 * A core takes channels of some output rows; the taps of a filter of 3 x 3 stay in registers along a row. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_rows_f32
#endif

#include "cluster.h"

typedef struct {
  const tw_conv_params *p;
  const float *x; /* this channel of this image */
  const float *w; /* its filter */
  float start;
} work;

/* Any window, with taps outside the image left out. */
static TW_COMPACT float any_window(const work *k, int32_t in_y, int32_t in_x) {
  const tw_conv_params *const p = k->p;
  float total = k->start;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t y = in_y + r * p->dilation_h;
    if (y < 0 || y >= p->in_h) continue;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t x = in_x + s * p->dilation_w;
      if (x < 0 || x >= p->in_w) continue;
      total += k->x[(y * p->in_w + x) * p->groups] * k->w[r * p->kernel_w + s];
    }
  }
  return total;
}

/* `count` windows of 3 x 3 that lie in the image, the first at x; neighbours in a row are `step` floats apart. */
static void windows_of_three(const work *k, const float *x, int32_t down, int32_t step, int32_t on, int32_t count,
                             float *y, int32_t y_step) {
  const float w0 = k->w[0], w1 = k->w[1], w2 = k->w[2], w3 = k->w[3], w4 = k->w[4], w5 = k->w[5], w6 = k->w[6];
  const float w7 = k->w[7], w8 = k->w[8], start = k->start;
  const float *a0 = x, *a1 = a0 + step, *a2 = a1 + step, *b0 = x + down, *b1 = b0 + step, *b2 = b1 + step;
  const float *c0 = b0 + down, *c1 = c0 + step, *c2 = c1 + step;
  for (; count > 0; count--, y += y_step) {
    float total = start + *a0 * w0;
    total += *a1 * w1, total += *a2 * w2, total += *b0 * w3, total += *b1 * w4;
    total += *b2 * w5, total += *c0 * w6, total += *c1 * w7, total += *c2 * w8;
    *y = total;
    a0 += on, a1 += on, a2 += on, b0 += on, b1 += on, b2 += on, c0 += on, c1 += on, c2 += on;
  }
}

/* One output row of one channel. */
static void one_row(const work *k, int32_t out_y, float *y) {
  const tw_conv_params *const p = k->p;
  const int32_t in_y = out_y * p->stride_h - p->pad_top, pitch = p->in_w * p->groups;
  const int32_t reach_y = (p->kernel_h - 1) * p->dilation_h, reach_x = (p->kernel_w - 1) * p->dilation_w;
  const int is_three = p->kernel_h == 3 && p->kernel_w == 3 && in_y >= 0 && in_y + reach_y < p->in_h;
  /* The pixels whose windows lie in the image from left to right. */
  const tw_range inside = tw_inside(-p->pad_left, p->stride_w, p->in_w - reach_x, p->out_w);
  const int32_t first = is_three ? inside.first : p->out_w, end = is_three ? inside.end : p->out_w;
  for (int32_t i = 0; i < first; i++) y[i * p->groups] = any_window(k, in_y, i * p->stride_w - p->pad_left);
  if (first < end) {
    const float *const corner = k->x + in_y * pitch + (first * p->stride_w - p->pad_left) * p->groups;
    windows_of_three(k, corner, p->dilation_h * pitch, p->dilation_w * p->groups, p->stride_w * p->groups, end - first,
                     y + first * p->groups, p->groups);
  }
  for (int32_t i = end; i < p->out_w; i++) y[i * p->groups] = any_window(k, in_y, i * p->stride_w - p->pad_left);
}

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y) {
  const tw_conv_params *const p = params;
  const int32_t rows = p->batch * p->out_h, taps = p->kernel_h * p->kernel_w;
  const tw_share share = tw_share_of(rows * p->groups);
  if (share.first >= share.end) return;
  int32_t channel = share.first / rows, row = share.first - channel * rows;
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t image = row / p->out_h;
    const work k = {p, x + image * p->in_h * p->in_w * p->groups + channel, w + channel * taps,
                    b ? b[channel * p->bias_step] : 0.0f};
    one_row(&k, row - image * p->out_h, y + row * p->out_w * p->groups + channel);
    if (++row < rows) continue;
    row = 0;
    channel++;
  }
}
