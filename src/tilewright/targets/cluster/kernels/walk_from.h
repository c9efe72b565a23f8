/* Walks that begin in the middle: each core takes a part of the positions. */
#ifndef TW_WALK_FROM_H
#define TW_WALK_FROM_H

#include "cluster.h"
#include "walk.h"

/* Brings an odometer to a position, counted from the first one; returns the offset there. */
static TW_COMPACT int32_t tw_walk_from(int32_t rank, const int32_t *size, const int32_t *stride, int32_t position,
                                       int32_t *at) {
  int32_t offset = 0;
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    const int32_t above = position / size[axis];
    at[axis] = position - above * size[axis];
    offset += at[axis] * stride[axis];
    position = above;
  }
  return offset;
}

#endif
