#ifndef TW_CLIP_H
#define TW_CLIP_H

#include <stdint.h>

/* y[i] = min(max(x[i], low), high) for i below count; y may be x. Integers take the int_ bounds. */
typedef struct {
  int32_t count;
  float low;
  float high;
  int64_t int_low;
  int64_t int_high;
} tw_clip_params;

#endif
