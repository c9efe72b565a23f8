/* The largest element of each window, one row of the result at a time. */
#include "pool.h"

#ifndef TW_NAME
#define TW_NAME tw_maxpool
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "larger.h"

static inline void take_larger(const TW_X *restrict x, int32_t step, TW_Y *restrict y, int32_t count) {
  if (step == 1) {
    for (int32_t i = 0; i < count; i++) y[i] = TW_LARGER(x[i], y[i]);
  } else if (step == 2) {
    for (int32_t i = 0; i < count; i++) y[i] = TW_LARGER(x[2 * i], y[i]);
  } else {
    for (int32_t i = 0; i < count; i++) y[i] = TW_LARGER(x[i * step], y[i]);
  }
}

static void one_row(const tw_pool_params *p, const TW_X *plane, int32_t out_y, TW_Y *y) {
  for (int32_t i = 0; i < p->out_w; i++) y[i] = TW_LOWEST;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    if (in_y < 0 || in_y >= p->in_h) continue;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t shift = s * p->dilation_w - p->pad_left;
      const tw_range inside = tw_inside(shift, p->stride_w, p->in_w, p->out_w);
      if (inside.first == inside.end) continue;
      const TW_X *from = plane + (in_y * p->in_w + inside.first * p->stride_w + shift);
      take_larger(from, p->stride_w, y + inside.first, inside.end - inside.first);
    }
  }
}

void TW_NAME(const tw_pool_params *params, const TW_X *x, TW_Y *y) {
  for (int32_t plane = 0; plane < params->batch * params->channels; plane++) {
    for (int32_t out_y = 0; out_y < params->out_h; out_y++) {
      one_row(params, x, out_y, y);
      y += params->out_w;
    }
    x += params->in_h * params->in_w;
  }
}
