/* What items of 32 that run together (a warp, lanes of it) have of each other. */
#ifndef TW_GPU_LANES_H
#define TW_GPU_LANES_H

#include "gpu.h"
#include "gpu_unroll.h"

#ifdef TW_GPU_DEVICE

TW_GPU float tw_of_other_lane(float x, int32_t apart) {
  float other;
  __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=f"(other) : "f"(x), "r"(apart));
  return other;
}

/* OTHER and OWN are TW_ITEM_OWN of floats: every item gets COUNT of them, from FIRST on, of the item whose number
 * differs in the bit APART, up to 16. It stands between blocks of TW_ITEMS, and all items come there. */
#define TW_OTHER_LANES(OTHER, OWN, FIRST, COUNT, APART) \
  TW_UNROLL for (int32_t lanes_i = (FIRST); lanes_i < (FIRST) + (COUNT); lanes_i++) OTHER[0][lanes_i] = tw_of_other_lane(OWN[0][lanes_i], APART)

#elif defined(TW_GPU_OPENCL)

TW_GROUP_SHARED(float, tw_exchanged, [TW_GROUP_SIZE]);

#define TW_OTHER_LANES(OTHER, OWN, FIRST, COUNT, APART)                                     \
  for (int32_t lanes_i = (FIRST); lanes_i < (FIRST) + (COUNT); lanes_i++) {                          \
    TW_ITEMS(lanes_t) { tw_exchanged[lanes_t] = OWN[0][lanes_i]; }                   \
    TW_MEET();                                                                       \
    TW_ITEMS(lanes_t) { OTHER[0][lanes_i] = tw_exchanged[lanes_t ^ (APART)]; }       \
    TW_MEET();                                                                       \
  }

#else

#define TW_OTHER_LANES(OTHER, OWN, FIRST, COUNT, APART)                                                              \
  TW_ITEMS(lanes_t) {                                                                                         \
    for (int32_t lanes_i = (FIRST); lanes_i < (FIRST) + (COUNT); lanes_i++) OTHER[lanes_t][lanes_i] = OWN[lanes_t ^ (APART)][lanes_i]; \
  }

#endif

/* Sums over LANES neighbours, a power of two up to 32, which all of them have then; OTHER is for what is exchanged. */
#define TW_SUM_LANES(OWN, OTHER, FIRST, COUNT, LANES)                                                              \
  TW_UNROLL for (int32_t apart = 1; apart < (LANES); apart *= 2) {                                          \
    TW_OTHER_LANES(OTHER, OWN, FIRST, COUNT, apart);                                                               \
    TW_ITEMS(sum_t) {                                                                                       \
      TW_UNROLL for (int32_t i = (FIRST); i < (FIRST) + (COUNT); i++) OWN[TW_OWN(sum_t)][i] += OTHER[TW_OWN(sum_t)][i];     \
    }                                                                                                       \
  }

#endif
