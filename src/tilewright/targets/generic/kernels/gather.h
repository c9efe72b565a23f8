#ifndef TW_GATHER_H
#define TW_GATHER_H

#include "tw.h"

/* x[outer, length, inner] -> y[outer, count, inner]. */
typedef struct {
  int32_t outer;
  int32_t length;
  int32_t inner;
  int32_t count;
} tw_gather_params;

/* A position on an axis: negative indices count from the end, outlying ones are clamped. */
static inline int32_t tw_position(int64_t index, int32_t length) {
  if (index < 0) index += length;
  return index < 0 ? 0 : index < length ? (int32_t)index : length - 1;
}

#endif
