/* What all items of a group have found, put together. */
#ifndef TW_GPU_JOIN_H
#define TW_GPU_JOIN_H

#include "gpu.h"

enum { TW_JOINING = 32 /* items that join what others have found, an equal share each */ };

/* What each item has found, and what those that join them have. */
TW_GROUP_SHARED(float, tw_found, [TW_GROUP_SIZE]);
TW_GROUP_SHARED(float, tw_joined, [TW_JOINING]);

TW_GPU float tw_join(float a, float b, int32_t is_sum) { return is_sum ? a + b : b > a ? b : a; }

/* The sum of all that is in tw_found, or the largest, for every item. */
TW_GPU float tw_group_join(int32_t is_sum) {
  TW_MEET();
  TW_ITEMS(t) {
    if (t < TW_JOINING) {
      float all = tw_found[t];
      for (int32_t i = t + TW_JOINING; i < TW_GROUP_SIZE; i += TW_JOINING) all = tw_join(all, tw_found[i], is_sum);
      tw_joined[t] = all;
    }
  }
  TW_MEET();
  float all = tw_joined[0];
  for (int32_t i = 1; i < TW_JOINING; i++) all = tw_join(all, tw_joined[i], is_sum);
  return all;
}

TW_GPU float tw_group_sum(void) { return tw_group_join(1); }

TW_GPU float tw_group_largest(void) { return tw_group_join(0); }

#endif
