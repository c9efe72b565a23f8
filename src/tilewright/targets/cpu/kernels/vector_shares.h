/* Rows of scores become shares: e^x over the sum of all. */
#ifndef TW_VECTOR_SHARES_H
#define TW_VECTOR_SHARES_H

#include "lanes.h"
#include "vector_exp.h"

static inline float tw_vector_largest(const float *x, float scale, int32_t count) {
  float largest = scale * x[0];
  int32_t i = 0;
  if (count >= TW_LANES) {
    tw_vector found = scale * tw_load(x);
    for (i = TW_LANES; i + TW_LANES <= count; i += TW_LANES) found = tw_at_least(scale * tw_load(x + i), found);
    largest = tw_lane_most(found);
  }
  for (; i < count; i++) largest = scale * x[i] > largest ? scale * x[i] : largest;
  return largest;
}

/* y[i] = e^(scale * x[i] - largest) for whole pairs of vectors, whose sums are added to `total`; how many there are. y
 * may be x. */
static inline int32_t tw_vector_pairs(const float *x, float scale, tw_vector largest, int32_t count, float *y,
                                      tw_vector total[2]) {
  int32_t i = 0;
  for (; i + 2 * TW_LANES <= count; i += 2 * TW_LANES) {
    TW_UNROLL for (int v = 0; v < 2; v++) {
      const tw_vector made = tw_vector_exp(scale * tw_load(x + i + v * TW_LANES) - largest);
      total[v] += made;
      tw_store(y + i + v * TW_LANES, made);
    }
  }
  return i;
}

/* x[i] becomes e^(scale * x[i]) over a power of e that all have, and what comes back is 1 over their sum. Behind them is
 * room for whole vectors, which become 0. */
static inline float tw_vector_powers(float *x, float scale, int32_t count) {
  const tw_vector largest = tw_all(tw_vector_largest(x, scale, count));
  tw_vector total[2] = {{0}, {0}};
  for (int32_t i = tw_vector_pairs(x, scale, largest, count, x, total); i < count; i += TW_LANES) {
    const tw_vector all = tw_vector_exp(scale * tw_load(x + i) - largest);
    const tw_vector made = tw_select(tw_first_lanes(count - i), all, tw_all(0.0f));
    total[0] += made;
    tw_store(x + i, made);
  }
  return 1.0f / tw_lane_sum(total[0] + total[1]);
}

/* y[i] = e^(scale * x[i]) / sum; y may be x. */
static inline void tw_vector_shares(const float *x, float scale, int32_t count, float *y) {
  const tw_vector largest = tw_all(tw_vector_largest(x, scale, count));
  tw_vector total[2] = {{0}, {0}};
  for (int32_t i = tw_vector_pairs(x, scale, largest, count, y, total); i < count; i += TW_LANES) {
    const int32_t left = count - i < TW_LANES ? count - i : TW_LANES;
    const tw_vector made = tw_vector_exp(scale * tw_load_first(x + i, left) - largest);
    total[0] += tw_select(tw_first_lanes(left), made, tw_all(0.0f));
    tw_store_first(y + i, made, left);
  }
  const float unit = 1.0f / tw_lane_sum(total[0] + total[1]);
  for (int32_t i = 0; i < count; i++) y[i] *= unit;
}

#endif
