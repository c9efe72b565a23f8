/* Sums of the bytes of words, lane by lane. Needs TW_X. */
#ifndef TW_LANE_SUMS_H
#define TW_LANE_SUMS_H

#include "byte_words.h"

/* A dot product with a single one adds a single lane. */
static inline void tw_add_lanes(int32_t *total, uint32_t word) {
  for (int lane = 0; lane < 4; lane++) {
    const uint32_t one = 1u << (8 * lane);
    total[lane] = TW_IS_SIGNED(TW_X) ? tw_x_sdotsp4(total[lane], word, one) : tw_x_sdotup4(total[lane], word, one);
  }
}

#endif
