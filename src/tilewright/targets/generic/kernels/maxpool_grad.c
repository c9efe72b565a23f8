/* The gradient of a pool of largest elements: each window adds its element of g to that of the first largest of x. */
#include "pool_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_maxpool_grad
#endif

/* Where the first largest element of a window is; negative where the window has none. `step` lies between pixels. */
static int32_t largest(const tw_pool_gradient_params *p, const float *x, int32_t out_y, int32_t out_x, int32_t step) {
  int32_t best = -1;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    for (int32_t s = 0; in_y >= 0 && in_y < p->in_h && s < p->kernel_w; s++) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      const int32_t at = (in_y * p->in_w + in_x) * step;
      if (in_x < 0 || in_x >= p->in_w) continue;
      if (best < 0 || x[at] > x[best]) best = at;
    }
  }
  return best;
}

void TW_NAME(const tw_pool_gradient_params *params, const float *g, const float *x, float *y) {
  const tw_pool_gradient_params *const p = params;
  const int32_t step = p->channels_last ? p->channels : 1, pixels = p->in_h * p->in_w, outs = p->out_h * p->out_w;
  for (int32_t i = 0; i < p->batch * p->channels * pixels; i++) y[i] = 0.0f;
  for (int32_t plane = 0; plane < p->batch * p->channels; plane++) {
    const int32_t image = plane / p->channels, channel = plane - image * p->channels;
    const int32_t first = image * p->channels + (p->channels_last ? 0 : channel);
    const int32_t x_start = first * pixels + (p->channels_last ? channel : 0);
    const int32_t g_start = first * outs + (p->channels_last ? channel : 0);
    for (int32_t at = 0; at < outs; at++) {
      const int32_t best = largest(p, x + x_start, at / p->out_w, at % p->out_w, step);
      if (best >= 0) y[x_start + best] += g[g_start + at * step];
    }
  }
}
