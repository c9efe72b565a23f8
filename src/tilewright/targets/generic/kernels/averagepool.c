/* The mean of each window, one row of the result at a time. */
#include "pool_count.h"

#ifndef TW_NAME
#define TW_NAME tw_averagepool
#endif

static inline void add_to(const float *restrict x, int32_t step, float *restrict y, int32_t count) {
  if (step == 1) {
    for (int32_t i = 0; i < count; i++) y[i] += x[i];
  } else if (step == 2) {
    for (int32_t i = 0; i < count; i++) y[i] += x[2 * i];
  } else {
    for (int32_t i = 0; i < count; i++) y[i] += x[i * step];
  }
}

static void sum_row(const tw_pool_params *p, const float *plane, int32_t out_y, float *y) {
  for (int32_t i = 0; i < p->out_w; i++) y[i] = 0.0f;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    if (in_y < 0 || in_y >= p->in_h) continue;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t shift = s * p->dilation_w - p->pad_left;
      const tw_range inside = tw_inside(shift, p->stride_w, p->in_w, p->out_w);
      if (inside.first == inside.end) continue;
      const float *from = plane + (in_y * p->in_w + inside.first * p->stride_w + shift);
      add_to(from, p->stride_w, y + inside.first, inside.end - inside.first);
    }
  }
}

void TW_NAME(const tw_pool_params *params, const float *x, float *y) {
  const tw_pool_params p = *params;
  for (int32_t plane = 0; plane < p.batch * p.channels; plane++) {
    for (int32_t out_y = 0; out_y < p.out_h; out_y++) {
      const int32_t rows =
          tw_counted(p.count_pads, out_y * p.stride_h, p.dilation_h, p.kernel_h, p.pad_top, p.in_h, p.pad_bottom);
      sum_row(params, x, out_y, y);
      for (int32_t i = 0; i < p.out_w; i++) {
        const int32_t columns =
            tw_counted(p.count_pads, i * p.stride_w, p.dilation_w, p.kernel_w, p.pad_left, p.in_w, p.pad_right);
        y[i] /= (float)tw_max(rows * columns, 1);
      }
      y += p.out_w;
    }
    x += p.in_h * p.in_w;
  }
}
