#ifndef TW_PAD_H
#define TW_PAD_H

#include "walk.h"

/* x, contiguous, lies in the larger y from element `start` on; y has `count` elements. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride[TW_MAX_RANK];
  int32_t count;
  int32_t start;
  float value;     /* the border of floats */
  int64_t integer; /* the border of integers */
} tw_pad_params;

#endif
