/* Rows of scores become shares: e^x over the sum of all. */
#ifndef TW_VECTOR_SHARES_H
#define TW_VECTOR_SHARES_H

#include "lanes.h"
#include "vector_exp.h"

/* The largest of some. */
static inline float tw_vector_largest(const float *x, int32_t count) {
  tw_vector found[2] = {tw_all(x[0]), tw_all(x[0])};
  int32_t i = 0;
  for (; i + 2 * TW_LANES <= count; i += 2 * TW_LANES) {
    TW_UNROLL for (int v = 0; v < 2; v++) found[v] = tw_at_least(tw_load(x + i + v * TW_LANES), found[v]);
  }
  for (; i < count; i += TW_LANES) {
    const int32_t left = count - i < TW_LANES ? count - i : TW_LANES;
    const tw_vector some = tw_select(tw_first_lanes(left), tw_load_first(x + i, left), found[0]);
    found[0] = tw_at_least(some, found[0]);
  }
  return tw_lane_most(tw_at_least(found[0], found[1]));
}

/* y[i] = e^(x[i] - largest); what comes back is their sum. y may be x. */
static inline float tw_vector_powers(const float *x, float largest, int32_t count, float *y) {
  const tw_vector most = tw_all(largest);
  tw_vector total[2] = {{0}, {0}};
  int32_t i = 0;
  for (; i + 2 * TW_LANES <= count; i += 2 * TW_LANES) {
    TW_UNROLL for (int v = 0; v < 2; v++) {
      const tw_vector made = tw_vector_exp(tw_load(x + i + v * TW_LANES) - most);
      total[v] += made;
      tw_store(y + i + v * TW_LANES, made);
    }
  }
  for (; i < count; i += TW_LANES) {
    const int32_t left = count - i < TW_LANES ? count - i : TW_LANES;
    const tw_vector made = tw_vector_exp(tw_load_first(x + i, left) - most);
    total[0] += tw_select(tw_first_lanes(left), made, tw_all(0.0f));
    tw_store_first(y + i, made, left);
  }
  return tw_lane_sum(total[0] + total[1]);
}

/* y[i] = e^x[i] / sum; y may be x. */
static inline void tw_vector_shares(const float *x, int32_t count, float *y) {
  const float unit = 1.0f / tw_vector_powers(x, tw_vector_largest(x, count), count, y);
  for (int32_t i = 0; i < count; i++) y[i] *= unit;
}

#endif
