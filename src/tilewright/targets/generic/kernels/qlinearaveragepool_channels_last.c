/* y = requant(sum(x - x_zero) * mul / count) over the elements of each window that are inside x, channels last */
#include "qlinear_mean.h"
#include "qlinearaveragepool.h"
#include "window.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearaveragepool_channels_last_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

static void one_pixel(const tw_qlinearaveragepool_params *p, const TW_X *x, int32_t top, int32_t left, TW_Y *y) {
  const tw_range rows = tw_inside(top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range columns = tw_inside(left, p->dilation_w, p->in_w, p->kernel_w);
  const int32_t count = (rows.end - rows.first) * (columns.end - columns.first);
  for (int32_t c = 0; c < p->channels; c++) {
    int32_t total = -count * p->x_zero;
    for (int32_t r = rows.first; r < rows.end; r++) {
      for (int32_t s = columns.first; s < columns.end; s++) {
        const int32_t pixel = (top + r * p->dilation_h) * p->in_w + left + s * p->dilation_w;
        total += x[pixel * p->channels + c];
      }
    }
    y[c] = (TW_Y)tw_mean(&p->requant, total, count, p->mul);
  }
}

void TW_NAME(const tw_qlinearaveragepool_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearaveragepool_params p = *params;
  for (int32_t image = 0; image < p.batch; image++, x += p.in_h * p.in_w * p.channels) {
    for (int32_t i = 0; i < p.out_h * p.out_w; i++, y += p.channels) {
      one_pixel(params, x, i / p.out_w * p.stride_h - p.pad_top, i % p.out_w * p.stride_w - p.pad_left, y);
    }
  }
}
