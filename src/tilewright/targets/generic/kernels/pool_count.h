/* How many elements an average is taken over. */
#ifndef TW_POOL_COUNT_H
#define TW_POOL_COUNT_H

#include "pool.h"

/* How many taps of a window count, along one axis; `before` and `after` are the padding of `size` elements. */
static inline int32_t tw_counted(int32_t count_pads, int32_t start, int32_t dilation, int32_t taps, int32_t before, int32_t size,
                       int32_t after) {
  const tw_range inside = count_pads ? tw_inside(start, dilation, before + size + after, taps)
                                     : tw_inside(start - before, dilation, size, taps);
  return inside.end - inside.first;
}

#endif
