/* Four neighbouring columns of bytes, element by element. A kernel includes this after it has said what it does:
 *   state start(void)                  of four columns without elements
 *   state with(state, uint32_t word)   with one more element in each of them
 * and, with TW_HAS_WITH_PAIRS, how it takes twice as many elements as `pairs`, `step` bytes apart; x is behind them then:
 *   state with_pairs(state, const uint8_t **x, int32_t pairs, int32_t step) */
#ifndef TW_FOUR_COLUMNS_H
#define TW_FOUR_COLUMNS_H

#include "cluster.h"
#include "xpulp.h"

static inline state with_words(state total, const uint8_t *x, int32_t count, int32_t step) {
#ifdef TW_HAS_WITH_PAIRS
  total = with_pairs(total, &x, count >> 1, step);
  return count & 1 ? with(total, tw_x_load(x)) : total;
#else
  for (; count >= 4; count -= 4, x += 4 * step) {
    const uint32_t x0 = tw_x_load(x), x1 = tw_x_load(x + step);
    const uint32_t x2 = tw_x_load(x + 2 * step), x3 = tw_x_load(x + 3 * step);
    total = with(with(with(with(total, x0), x1), x2), x3);
  }
  for (; count > 0; count--, x += step) total = with(total, tw_x_load(x));
  return total;
#endif
}

/* The same where fewer than four columns are left. */
static TW_COMPACT state with_parts(state total, const uint8_t *x, int32_t count, int32_t step, int32_t columns) {
  for (; count > 0; count--, x += step) {
    uint32_t word = 0;
    for (int32_t i = 0; i < columns; i++) word |= (uint32_t)x[i] << (8 * i);
    total = with(total, word);
  }
  return total;
}

/* With `count` elements that are `step` bytes apart; of `columns` columns if they are fewer than four. */
static inline state with_run(state total, const uint8_t *x, int32_t count, int32_t step, int32_t columns) {
  return columns < 4 ? with_parts(total, x, count, step, columns) : with_words(total, x, count, step);
}

static inline void store_word(uint8_t *y, uint32_t word, int32_t columns) {
  if (columns >= 4) {
    tw_x_store(y, word);
    return;
  }
  for (int32_t i = 0; i < columns; i++) y[i] = (uint8_t)(word >> (8 * i));
}

#endif
