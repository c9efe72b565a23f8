/* Windows that slide over an image with padding: which positions find an element. */
#ifndef TW_WINDOW_H
#define TW_WINDOW_H

#include "tw.h"

/* The values of i below `count` for which i * step + shift lies in [0, size). */
typedef struct {
  int32_t first, end;
} tw_range;

static inline tw_range tw_inside(int32_t shift, int32_t step, int32_t size, int32_t count) {
  tw_range range;
  range.first = tw_min(shift < 0 ? (step - 1 - shift) / step : 0, count);
  range.end = shift < size ? tw_max(range.first, tw_min((size - 1 - shift) / step + 1, count)) : range.first;
  return range;
}

#endif
