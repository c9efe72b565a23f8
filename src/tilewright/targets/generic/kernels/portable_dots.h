/* Products of the rows of a matrix with a vector, in sums that do not wait for each other. */
#ifndef TW_PORTABLE_DOTS_H
#define TW_PORTABLE_DOTS_H

#include "tw.h"

enum { TW_DOT_LANES = 8 };

static inline float tw_dot(const float *a, const float *b, int32_t count) {
  float lane[TW_DOT_LANES] = {0.0f}, sum = 0.0f;
  int32_t k = 0;
  for (; k + TW_DOT_LANES <= count; k += TW_DOT_LANES) {
    for (int32_t i = 0; i < TW_DOT_LANES; i++) lane[i] += a[k + i] * b[k + i];
  }
  for (; k < count; k++) sum += a[k] * b[k];
  for (int32_t i = 0; i < TW_DOT_LANES; i++) sum += lane[i];
  return sum;
}

static inline void tw_dots(const float *r, const float *h, int32_t hidden, int32_t first, int32_t end, float *sums) {
  for (int32_t i = first; i < end; i++) sums[i] += tw_dot(r + i * hidden, h, hidden);
}

#endif
