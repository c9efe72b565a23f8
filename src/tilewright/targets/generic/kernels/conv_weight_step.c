/* Filters after a step down their gradient: y = w - rate * gradient, where y may be w. The gradient is made of a few
 * elements at a time (conv_weight_grad.c says how) and never lies in memory. Nothing moves where the rate is zero, even
 * if the gradient is no number. Channels second. */
#include "bytes.h"
#include "conv_weight_taps.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_step
#endif

typedef struct {
  const tw_conv_gradient_params *p;
  const float *x, *g;
  float rate;
  int32_t image, result; /* elements of an image of x and of g */
} step;

/* One tap of a channel, of some filters: w and y are `pitch` apart from one filter to the next. */
static void step_tap(const step *k, const float *x, const float *g, int32_t filters, int32_t tap, const float *w,
                     float *y, int32_t pitch) {
  const tw_conv_gradient_params *const p = k->p;
  float gradient[TW_FILTERS] = {0.0f};
  for (int32_t n = 0; n < p->batch; n++, x += k->image, g += k->result) {
    tw_tap_sums total = {{{0.0f}}};
    tw_add_tap(p, x, g, filters, tap / p->kernel_w, tap % p->kernel_w, &total);
    for (int32_t f = 0; f < filters; f++) {
      for (int32_t lane = 0; lane < TW_LANES; lane++) gradient[f] += total.lanes[f][lane];
    }
  }
  for (int32_t f = 0; f < filters; f++) y[f * pitch] = w[f * pitch] - gradient[f] * k->rate;
}

/* Some filters of a group, whose first image and gradients these are. */
static void step_filters(const step *k, const float *x, const float *g, int32_t filters, const float *w, float *y) {
  const tw_conv_gradient_params *const p = k->p;
  const int32_t taps = p->kernel_h * p->kernel_w, pitch = p->channels * taps;
  for (int32_t c = 0; c < p->channels; c++, x += p->in_h * p->in_w) {
    for (int32_t tap = 0; tap < taps; tap++) step_tap(k, x, g, filters, tap, w++, y++, pitch);
  }
}

/* Images of one pixel, as layers have that are no convolutions: products of rows. */
static void step_rows(const step *k, const float *w, float *y) {
  const tw_conv_gradient_params *const p = k->p;
  for (int32_t f = 0; f < p->filters; f++) {
    for (int32_t c = 0; c < p->channels; c++, w++, y++) {
      float gradient = 0.0f;
      for (int32_t n = 0; n < p->batch; n++) gradient += k->x[n * k->image + c] * k->g[n * k->result + f];
      *y = *w - gradient * k->rate;
    }
  }
}

void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, const float *w, const float *rate,
             float *y) {
  const tw_conv_gradient_params *const p = params;
  const int32_t plane = p->in_h * p->in_w, positions = p->out_h * p->out_w;
  const int32_t length = p->channels * p->kernel_h * p->kernel_w;
  const step k = {p, x, g, *rate, p->groups * p->channels * plane, p->groups * p->filters * positions};
  if (k.rate == 0.0f) {
    if (y != w) memcpy(y, w, (size_t)(p->groups * p->filters * length) * sizeof *y);
    return;
  }
  const int is_padded = p->pad_top != 0 || p->pad_left != 0;
  if (p->groups == 1 && plane == 1 && positions == 1 && length == p->channels && !is_padded) {
    step_rows(&k, w, y);
    return;
  }
  for (int32_t group = 0; group < p->groups; group++, x += p->channels * plane) {
    for (int32_t first = 0; first < p->filters; first += TW_FILTERS) {
      const int32_t f = group * p->filters + first, filters = tw_min(TW_FILTERS, p->filters - first);
      step_filters(&k, x, g + f * positions, filters, w + f * length, y + f * length);
    }
  }
}
