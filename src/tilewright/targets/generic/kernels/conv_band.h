/* The band: the part of some input channels, padding included, that a block of output pixels reads. Inside the band
 * nothing lies outside the image, so that what is copied from it needs no tests.
 * Needs TW_X, TW_PANEL (the type of an element that is ready to be multiplied) and TW_INTO_PANEL(x). */
#ifndef TW_CONV_BAND_H
#define TW_CONV_BAND_H

#include "conv_sizes.h"

static inline void tw_band_fill(TW_PANEL *restrict to, TW_PANEL value, int32_t count) {
  for (int32_t i = 0; i < count; i++) to[i] = value;
}

static inline void tw_band_copy(TW_PANEL *restrict to, const TW_X *restrict from, int32_t count) {
  for (int32_t i = 0; i < count; i++) to[i] = TW_INTO_PANEL(from[i]);
}

/* Copies the band of some channels. What is behind the last column and behind the last row is filled, too: copies from
 * the band have a fixed length and may read a little more than is needed. */
static void tw_band_load(const tw_conv_params *p, const tw_band *band, const TW_X *x, int32_t channels,
                         TW_PANEL outside, TW_PANEL *to) {
  const int32_t first = tw_clamp(-band->in_x, 0, band->columns);
  const int32_t end = tw_clamp(p->in_w - band->in_x, first, band->columns);
  for (int32_t c = 0; c < channels; c++) {
    const TW_X *plane = x + c * p->in_h * p->in_w;
    for (int32_t row = 0; row < band->rows; row++, to += band->pitch) {
      const int32_t y = band->in_y + row;
      if (y < 0 || y >= p->in_h || first == end) {
        tw_band_fill(to, outside, band->pitch);
        continue;
      }
      if (first > 0) tw_band_fill(to, outside, first);
      tw_band_copy(to + first, plane + (y * p->in_w + band->in_x + first), end - first);
      if (band->pitch > end) tw_band_fill(to + end, outside, band->pitch - end);
    }
  }
  tw_band_fill(to, outside, TW_PIXELS * p->stride_w);
}

#endif
