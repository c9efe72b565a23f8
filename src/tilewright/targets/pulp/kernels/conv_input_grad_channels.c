/* The gradient of a convolution's operand, channels last, where each group has one channel and one filter; all cores
 * together, each with channels of rows of its own. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_input_grad_channels
#endif

#include "cluster.h"

typedef struct {
  const tw_conv_gradient_params *p;
  const float *g, *w; /* of this channel and image */
  float *y;
} work;

/* Pixels `count` from `x` on under three taps of a row of windows that all reach them. */
static void three_taps(const float *g, const float *w, int32_t on, int32_t count, float *y) {
  const float w0 = w[0], w1 = w[1], w2 = w[2];
  /* Tap s of the window at column c reaches column c + s: the windows come from the right. */
  float g2 = g[0], g1 = g[on];
  g += 2 * on;
  for (; count >= 3; count -= 3, g += 3 * on, y += 3 * on) {
    const float n0 = g[0], n1 = g[on], n2 = g[2 * on], y0 = y[0], y1 = y[on], y2 = y[2 * on];
    y[0] = y0 + n0 * w0 + g1 * w1 + g2 * w2;
    y[on] = y1 + n1 * w0 + n0 * w1 + g1 * w2;
    y[2 * on] = y2 + n2 * w0 + n1 * w1 + n0 * w2;
    g2 = n1, g1 = n2;
  }
  for (; count > 0; count--, g += on, y += on) {
    *y += *g * w0 + g1 * w1 + g2 * w2;
    g2 = g1, g1 = *g;
  }
}

/* What one row of windows adds to a row through one row of taps. */
static void add_row(const work *k, const float *g, const float *w, float *y) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t on = p->groups, step = p->stride_w * on;
  /* Columns that windows reach with all three taps: from 2 - pad on, up to out_w - 1 - pad. */
  const int32_t first = tw_max(2 - p->pad_left, 0), end = tw_min(p->out_w - p->pad_left, p->in_w);
  const int are_three = p->kernel_w == 3 && p->dilation_w == 1 && p->stride_w == 1 && end - first >= 3;
  if (are_three) three_taps(g + (first + p->pad_left - 2) * on, w, on, end - first, y + first * on);
  for (int32_t s = 0; s < p->kernel_w; s++) {
    const int32_t shift = s * p->dilation_w - p->pad_left;
    const tw_range inside = tw_inside(shift, p->stride_w, p->in_w, p->out_w);
    const float tap = w[s];
    int32_t i = inside.first;
    for (; i < inside.end; i++) {
      const int32_t at = i * p->stride_w + shift;
      if (are_three && at >= first && at < end) {
        i += end - at - 1;
        continue;
      }
      y[i * step + shift * on] += g[i * on] * tap;
    }
  }
}

/* One row of one channel. */
static void one_row(const work *k, int32_t in_y, float *y) {
  const tw_conv_gradient_params *const p = k->p;
  for (int32_t i = 0; i < p->in_w; i++) y[i * p->groups] = 0.0f;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t reached = in_y + p->pad_top - r * p->dilation_h, row = reached / p->stride_h;
    if (reached < 0 || row * p->stride_h != reached || row >= p->out_h) continue;
    add_row(k, k->g + row * p->out_w * p->groups, k->w + r * p->kernel_w, y);
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *g, const float *w, float *y) {
  const tw_conv_gradient_params *const p = params;
  const int32_t groups = p->groups, taps = p->kernel_h * p->kernel_w;
  const tw_share share = tw_share_of(p->batch * p->in_h * groups);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t row = i / groups, channel = i - row * groups, image = row / p->in_h;
    const work k = {p, g + image * p->out_h * p->out_w * groups + channel, w + channel * taps, y};
    one_row(&k, row - image * p->in_h, y + row * p->in_w * groups + channel);
  }
}
