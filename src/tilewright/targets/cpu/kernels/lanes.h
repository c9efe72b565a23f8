/* All lanes of a vector as one number: halves of it first, so that few steps wait for each other. */
#ifndef TW_LANES_H
#define TW_LANES_H

#include "vectors.h"

#define TW_FOURS (TW_LANES / 4)

typedef float tw_fourth __attribute__((vector_size(16)));
typedef int32_t tw_fourth_bits __attribute__((vector_size(16)));

TW_INLINE float tw_lane_sum(tw_vector v) {
  tw_fourth part[TW_FOURS];
  memcpy(part, &v, sizeof v);
  TW_UNROLL for (int half = TW_FOURS / 2; half > 0; half /= 2) {
    TW_UNROLL for (int i = 0; i < half; i++) part[i] += part[i + half];
  }
  return (part[0][0] + part[0][2]) + (part[0][1] + part[0][3]);
}

TW_INLINE tw_fourth tw_larger_of_four(tw_fourth a, tw_fourth b) {
  const tw_fourth_bits mask = a > b;
  return (tw_fourth)((mask & (tw_fourth_bits)a) | (~mask & (tw_fourth_bits)b));
}

/* The largest lane; none of them is NaN. */
TW_INLINE float tw_lane_most(tw_vector v) {
  tw_fourth part[TW_FOURS];
  memcpy(part, &v, sizeof v);
  TW_UNROLL for (int half = TW_FOURS / 2; half > 0; half /= 2) {
    TW_UNROLL for (int i = 0; i < half; i++) part[i] = tw_larger_of_four(part[i], part[i + half]);
  }
  const float first = part[0][0] > part[0][2] ? part[0][0] : part[0][2];
  const float second = part[0][1] > part[0][3] ? part[0][1] : part[0][3];
  return first > second ? first : second;
}

/* All ones in the first `count` lanes. */
TW_INLINE tw_vector_bits tw_first_lanes(int32_t count) {
  tw_vector_bits number;
  TW_UNROLL for (int lane = 0; lane < TW_LANES; lane++) number[lane] = lane;
  return number < count;
}

#endif
