#ifndef TW_RESIZE_H
#define TW_RESIZE_H

#include "tw.h"

/* x[outer, length, inner] -> y[outer, count, inner]; taps and weight are [count, taps]. */
typedef struct {
  int32_t outer;
  int32_t length;
  int32_t inner;
  int32_t count;
  int32_t taps;
} tw_resize_params;

#endif
