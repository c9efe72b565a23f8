/* Rows of scores become shares: e^x over the sum of all. */
#ifndef TW_VECTOR_SHARES_H
#define TW_VECTOR_SHARES_H

#include "vector_exp.h"

static inline float tw_vector_largest(const float *x, float scale, int32_t count) {
  float largest = scale * x[0];
  int32_t i = 0;
  if (count >= TW_LANES) {
    tw_vector found = scale * tw_load(x);
    for (i = TW_LANES; i + TW_LANES <= count; i += TW_LANES) found = tw_at_least(scale * tw_load(x + i), found);
    for (int lane = 0; lane < TW_LANES; lane++) largest = found[lane] > largest ? found[lane] : largest;
  }
  for (; i < count; i++) largest = scale * x[i] > largest ? scale * x[i] : largest;
  return largest;
}

/* y[i] = e^(scale * x[i]) / sum; y may be x. */
static inline void tw_vector_shares(const float *x, float scale, int32_t count, float *y) {
  const float largest = tw_vector_largest(x, scale, count);
  tw_vector total[2] = {{0}, {0}};
  int32_t i = 0;
  for (; i + 2 * TW_LANES <= count; i += 2 * TW_LANES) {
    TW_UNROLL for (int v = 0; v < 2; v++) {
      const tw_vector made = tw_vector_exp(scale * tw_load(x + i + v * TW_LANES) - largest);
      total[v] += made;
      tw_store(y + i + v * TW_LANES, made);
    }
  }
  for (; i < count; i += TW_LANES) {
    const int32_t left = count - i < TW_LANES ? count - i : TW_LANES;
    const tw_vector made = tw_vector_exp(scale * tw_load_first(x + i, left) - largest);
    for (int32_t lane = 0; lane < left; lane++) total[0][lane] += made[lane];
    tw_store_first(y + i, made, left);
  }
  float sum = 0.0f;
  for (int lane = 0; lane < TW_LANES; lane++) sum += total[0][lane] + total[1][lane];
  const float unit = 1.0f / sum;
  for (i = 0; i < count; i++) y[i] *= unit;
}

#endif
