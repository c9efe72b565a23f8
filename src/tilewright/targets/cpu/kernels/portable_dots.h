/* Products of the rows of a matrix with a vector, in vectors: four rows share what is loaded of it. */
#ifndef TW_PORTABLE_DOTS_H
#define TW_PORTABLE_DOTS_H

#include "row_dots.h"
#include "tw.h"

static inline float tw_dot(const float *a, const float *b, int32_t count) { return tw_row_dot(a, b, count); }

static inline void tw_dots(const float *r, const float *h, int32_t hidden, int32_t first, int32_t end, float *sums) {
  int32_t i = first;
  for (; i + 4 <= end; i += 4) {
    float found[4];
    tw_four_dots(h, r + i * hidden, hidden, hidden, found);
    for (int32_t j = 0; j < 4; j++) sums[i + j] += found[j];
  }
  for (; i < end; i++) sums[i] += tw_dot(r + i * hidden, h, hidden);
}

#endif
