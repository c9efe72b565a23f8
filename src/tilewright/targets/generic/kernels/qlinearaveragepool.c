/* y = requant(sum(x - x_zero) * mul / count) over the elements of each window that are inside x */
#include "qlinearaveragepool.h"

#include "qlinear_mean.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearaveragepool_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

/* The first tap at or after position 0, and the first at or after the end. */
static int32_t first_tap(int32_t start, int32_t dilation) { return start < 0 ? (-start + dilation - 1) / dilation : 0; }
static int32_t end_tap(int32_t start, int32_t dilation, int32_t taps, int32_t size) {
  return start < size ? tw_min(taps, (size - start + dilation - 1) / dilation) : 0;
}

void TW_NAME(const tw_qlinearaveragepool_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearaveragepool_params p = *params;
  for (int32_t plane = 0; plane < p.batch * p.channels; plane++, x += p.in_h * p.in_w) {
    for (int32_t row = 0; row < p.out_h; row++) {
      const int32_t top = row * p.stride_h - p.pad_top, first_r = first_tap(top, p.dilation_h);
      const int32_t end_r = end_tap(top, p.dilation_h, p.kernel_h, p.in_h);
      for (int32_t column = 0; column < p.out_w; column++) {
        const int32_t left = column * p.stride_w - p.pad_left, first_s = first_tap(left, p.dilation_w);
        const int32_t end_s = end_tap(left, p.dilation_w, p.kernel_w, p.in_w);
        const int32_t count = tw_max(end_r - first_r, 0) * tw_max(end_s - first_s, 0);
        int32_t total = -count * p.x_zero;
        for (int32_t r = first_r; r < end_r; r++) {
          for (int32_t s = first_s; s < end_s; s++) {
            total += x[(top + r * p.dilation_h) * p.in_w + left + s * p.dilation_w];
          }
        }
        *y++ = (TW_Y)tw_mean(&p.requant, total, count, p.mul);
      }
    }
  }
}
