/* The largest byte of a row. Needs TW_X. */
#ifndef TW_LARGEST_BYTE_H
#define TW_LARGEST_BYTE_H

#include "byte_words.h"

static inline uint32_t tw_larger_lanes(uint32_t a, uint32_t b) {
  return (uint32_t)(TW_IS_SIGNED(TW_X) ? tw_x_max4((int32_t)a, (int32_t)b) : tw_x_maxu4((int32_t)a, (int32_t)b));
}

static int32_t tw_largest_byte(const TW_X *x, int32_t length) {
  int32_t largest = x[0];
  if (tw_begins_word(x) && length >= 4) {
    const uint32_t *word = (const uint32_t *)(const void *)x;
    uint32_t lanes = *word;
    int32_t words = length >> 2;
    for (; words >= 2; words -= 2, word += 2) {
      const uint32_t first = word[0], second = word[1];
      lanes = tw_larger_lanes(tw_larger_lanes(lanes, first), second);
    }
    if (words) lanes = tw_larger_lanes(lanes, *word);
    largest = tw_x_max(tw_x_max(TW_LANE(TW_X, lanes, 0), TW_LANE(TW_X, lanes, 1)),
                       tw_x_max(TW_LANE(TW_X, lanes, 2), TW_LANE(TW_X, lanes, 3)));
    x += length & ~3, length &= 3;
  }
  for (; length > 0; length--) largest = tw_x_max(largest, *x++);
  return largest;
}

#endif
