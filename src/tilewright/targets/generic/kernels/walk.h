/* Walking a tensor in another order than that of its bytes. */
#ifndef TW_WALK_H
#define TW_WALK_H

#include "tw.h"

/* One step of an odometer whose last loop turns fastest: counts `at` on and moves `offset` along. After the last
 * position it is back at the first. */
static inline void tw_walk(int32_t rank, const int32_t *size, const int32_t *stride, int32_t *at, int32_t *offset) {
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    *offset += stride[axis];
    if (++at[axis] < size[axis]) return;
    *offset -= stride[axis] * size[axis];
    at[axis] = 0;
  }
}

/* How many positions a walk has. */
static inline int32_t tw_walk_length(int32_t rank, const int32_t *size) {
  int32_t length = 1;
  for (int32_t axis = 0; axis < rank; axis++) length *= size[axis];
  return length;
}

#endif
