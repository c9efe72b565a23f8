/* The largest byte of each window, channels second. */
#include "pool.h"
#include "taps_inside.h"

#ifndef TW_NAME
#define TW_NAME tw_maxpool_windows
#define TW_X int8_t
#define TW_Y int8_t
#endif

#define LOWEST ((TW_X)-1 < 0 ? -128 : 0)

static TW_Y largest(const TW_X *x, int32_t pitch, int32_t rows, int32_t step, int32_t columns) {
  int32_t found = LOWEST;
  for (; rows > 0; rows--, x += pitch) {
    const TW_X *at = x;
    for (int32_t s = columns; s > 0; s--, at += step) {
      const int32_t value = *at;
      if (value > found) found = value;
    }
  }
  return (TW_Y)found;
}

void TW_NAME(const tw_pool_params *params, const TW_X *x, TW_Y *y) {
  const tw_pool_params p = *params;
  const int32_t pitch = p.dilation_h * p.in_w;
  for (int32_t plane = 0; plane < p.batch * p.channels; plane++, x += p.in_h * p.in_w) {
    for (int32_t out_y = 0; out_y < p.out_h; out_y++) {
      const int32_t top = out_y * p.stride_h - p.pad_top;
      const tw_range r = taps_inside(top, p.dilation_h, p.kernel_h, p.in_h);
      for (int32_t out_x = 0, left = -p.pad_left; out_x < p.out_w; out_x++, left += p.stride_w) {
        const tw_range s = taps_inside(left, p.dilation_w, p.kernel_w, p.in_w);
        const int32_t from = (top + r.first * p.dilation_h) * p.in_w + left + s.first * p.dilation_w;
        *y++ = largest(x + from, pitch, r.end - r.first, p.dilation_w, s.end - s.first);
      }
    }
  }
}
