/* Sums and sums of squares of rows of bytes, and the root of a mean. Needs TW_X. */
#ifndef TW_ROW_SUMS_H
#define TW_ROW_SUMS_H

#include "byte_words.h"
#include "exact_quotients.h"
#include "own_rows.h"

typedef struct {
  int32_t sum, squares;
} tw_row_sums;

#define TW_DOT_X(total, a, b) (TW_IS_SIGNED(TW_X) ? tw_x_sdotsp4(total, a, b) : tw_x_sdotup4(total, a, b))

static tw_row_sums tw_sums_of_row(const TW_X *x, int32_t length) {
  tw_row_sums found = {0, 0};
  if (tw_begins_word(x)) {
    const uint32_t *word = (const uint32_t *)(const void *)x;
    int32_t words = length >> 2;
    for (; words >= 2; words -= 2, word += 2) {
      const uint32_t first = word[0], second = word[1];
      found.sum = TW_DOT_X(found.sum, first, TW_EVERY_LANE);
      found.squares = TW_DOT_X(found.squares, first, first);
      found.sum = TW_DOT_X(found.sum, second, TW_EVERY_LANE);
      found.squares = TW_DOT_X(found.squares, second, second);
    }
    if (words) {
      found.sum = TW_DOT_X(found.sum, *word, TW_EVERY_LANE);
      found.squares = TW_DOT_X(found.squares, *word, *word);
    }
    x += length & ~3, length &= 3;
  }
  for (; length > 0; length--, x++) {
    found.sum += *x;
    found.squares += *x * *x;
  }
  return found;
}

/* The floor of the root of a number below 2^17, one bit at a time. */
static inline uint32_t tw_root_of_mean(uint32_t x) {
  uint32_t root = 0;
  for (uint32_t bit = 1u << 16; bit != 0; bit >>= 2) {
    const uint32_t candidate = root + bit;
    root >>= 1;
    if (x >= candidate) {
      x -= candidate;
      root += bit;
    }
  }
  return root;
}

#endif
