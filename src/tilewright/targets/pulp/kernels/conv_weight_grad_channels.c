/* The gradient of a convolution's filters, channels last, where each group has one channel and one filter; all cores
 * together, each with channels and rows of taps of its own. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_channels
#endif

#include "cluster.h"

/* Three neighbouring taps of one row of windows, all of which lie in the image. */
static void three_taps(const float *x, int32_t step, const float *g, int32_t on, int32_t count, float total[3]) {
  float t0 = total[0], t1 = total[1], t2 = total[2];
  float x0 = x[0], x1 = x[step];
  x += 2 * step;
  for (; count >= 3; count -= 3, g += 3 * on, x += 3 * step) {
    const float g0 = g[0], x2 = x[0], g1 = g[on], x3 = x[step], g2 = g[2 * on], x4 = x[2 * step];
    t0 += g0 * x0, t1 += g0 * x1, t2 += g0 * x2;
    t0 += g1 * x1, t1 += g1 * x2, t2 += g1 * x3;
    t0 += g2 * x2, t1 += g2 * x3, t2 += g2 * x4;
    x0 = x3, x1 = x4;
  }
  for (; count > 0; count--, g += on, x += step) {
    t0 += *g * x0, t1 += *g * x1, t2 += *g * *x;
    x0 = x1, x1 = *x;
  }
  total[0] = t0, total[1] = t1, total[2] = t2;
}

/* One tap of one row of windows. */
static float one_tap(const float *x, int32_t step, const float *g, int32_t on, int32_t count, float total) {
  float other = 0.0f;
  for (; count >= 2; count -= 2, x += 2 * step, g += 2 * on) {
    const float g0 = g[0], x0 = x[0], g1 = g[on], x1 = x[step];
    total += g0 * x0, other += g1 * x1;
  }
  return count > 0 ? total + other + *g * *x : total + other;
}

typedef struct {
  const float *x, *g; /* of this channel and image: the row under the taps, and the row of windows */
} rows;

/* The taps of one row of a filter. */
static void row_of_taps(const tw_conv_gradient_params *p, rows at, float *total) {
  const int32_t step = p->stride_w * p->groups, on = p->groups;
  const tw_range first = tw_inside(-p->pad_left, p->stride_w, p->in_w, p->out_w);
  const tw_range last = tw_inside(2 * p->dilation_w - p->pad_left, p->stride_w, p->in_w, p->out_w);
  const int32_t both = first.first, end = last.end;
  const int are_three = p->kernel_w == 3 && p->dilation_w == 1 && p->stride_w == 1 && end - both >= 3;
  if (are_three) {
    three_taps(at.x + (both - p->pad_left) * on, on, at.g + both * on, on, end - both, total);
  }
  for (int32_t s = 0; s < p->kernel_w; s++) {
    const int32_t shift = s * p->dilation_w - p->pad_left;
    const tw_range inside = tw_inside(shift, p->stride_w, p->in_w, p->out_w);
    /* What the three have not seen is before and behind them. */
    const int32_t stop = are_three ? tw_min(inside.end, both) : inside.end, again = tw_max(inside.first, end);
    const float *const x = at.x + shift * on;
    if (inside.first < stop) {
      total[s] = one_tap(x + inside.first * step, step, at.g + inside.first * on, on, stop - inside.first, total[s]);
    }
    if (are_three && again < inside.end) {
      total[s] = one_tap(x + again * step, step, at.g + again * on, on, inside.end - again, total[s]);
    }
  }
}

#define TW_TAPS 16 /* of a row */

void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y) {
  const tw_conv_gradient_params *const p = params;
  const tw_share share = tw_share_of(p->kernel_h * p->groups);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t r = i / p->groups, channel = i - r * p->groups, down = r * p->dilation_h - p->pad_top;
    const tw_range inside = tw_inside(down, p->stride_h, p->in_h, p->out_h);
    float total[TW_TAPS];
    for (int32_t s = 0; s < p->kernel_w; s++) total[s] = 0.0f;
    for (int32_t n = 0; n < p->batch; n++) {
      for (int32_t row = inside.first; row < inside.end; row++) {
        const rows at = {x + ((n * p->in_h + row * p->stride_h + down) * p->in_w) * p->groups + channel,
                         g + ((n * p->out_h + row) * p->out_w) * p->groups + channel};
        row_of_taps(p, at, total);
      }
    }
    for (int32_t s = 0; s < p->kernel_w; s++) y[(channel * p->kernel_h + r) * p->kernel_w + s] = total[s];
  }
}
