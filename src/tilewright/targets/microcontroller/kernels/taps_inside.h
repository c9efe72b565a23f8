/* Which taps of a window lie inside an image. */
#ifndef TW_TAPS_INSIDE_H
#define TW_TAPS_INSIDE_H

#include "window.h"

/* Taps whose places, `step` apart from `start` on, are inside. */
static tw_range taps_inside(int32_t start, int32_t step, int32_t taps, int32_t size) {
  tw_range taken = {0, taps};
  while (taken.first < taps && start + taken.first * step < 0) taken.first++;
  while (taken.end > taken.first && start + (taken.end - 1) * step >= size) taken.end--;
  return taken;
}

#endif
