/* The mean of each window, all channels of a pixel at a time. */
#include "pool_count.h"

#ifndef TW_NAME
#define TW_NAME tw_averagepool_channels_last
#endif

static void sum_pixel(const tw_pool_params *p, const float *image, int32_t out_y, int32_t out_x, float *restrict y) {
  for (int32_t c = 0; c < p->channels; c++) y[c] = 0.0f;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t in_y = out_y * p->stride_h + r * p->dilation_h - p->pad_top;
    if (in_y < 0 || in_y >= p->in_h) continue;
    for (int32_t s = 0; s < p->kernel_w; s++) {
      const int32_t in_x = out_x * p->stride_w + s * p->dilation_w - p->pad_left;
      if (in_x < 0 || in_x >= p->in_w) continue;
      const float *restrict x = image + (in_y * p->in_w + in_x) * p->channels;
      for (int32_t c = 0; c < p->channels; c++) y[c] += x[c];
    }
  }
}

void TW_NAME(const tw_pool_params *params, const float *x, float *y) {
  const tw_pool_params p = *params;
  for (int32_t image = 0; image < p.batch; image++, x += p.in_h * p.in_w * p.channels) {
    for (int32_t i = 0; i < p.out_h * p.out_w; i++, y += p.channels) {
      const int32_t out_y = i / p.out_w, out_x = i % p.out_w;
      const int32_t rows =
          tw_counted(p.count_pads, out_y * p.stride_h, p.dilation_h, p.kernel_h, p.pad_top, p.in_h, p.pad_bottom);
      const int32_t columns =
          tw_counted(p.count_pads, out_x * p.stride_w, p.dilation_w, p.kernel_w, p.pad_left, p.in_w, p.pad_right);
      const float count = (float)tw_max(rows * columns, 1);
      sum_pixel(params, x, out_y, out_x, y);
      for (int32_t c = 0; c < p.channels; c++) y[c] /= count;
    }
  }
}
