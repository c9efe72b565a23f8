/* 32 neighbours as whole numbers of -127 to 127 times a scale. */
#ifndef TW_ROUNDED_BLOCKS_H
#define TW_ROUNDED_BLOCKS_H

#include <math.h>
#include <stdint.h>

enum { TW_ROUNDED_BLOCK = 32 };

/* What 1 / scale is for the largest magnitude of a block; 0 where all of it is taken as zero. With one that is no number
 * the scale is none. */
static inline float tw_rounded_inverse(float most) { return most > 1e-30f ? 127.0f / most : 0.0f; }
static inline float tw_rounded_scale(float most) { return most > 1e-30f ? most * (1.0f / 127.0f) : most * 0.0f; }

static inline float tw_rounded_most(const float *x) {
  float most = 0.0f;
  for (int32_t i = 0; i < TW_ROUNDED_BLOCK; i++) {
    const float size = fabsf(x[i]);
    most = size > most || size != size ? size : most;
  }
  return most;
}

#endif
