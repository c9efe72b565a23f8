/* Two tensors, broadcast, element by element: all elements are one list, of which each core has a part. */
#ifndef TW_BYTE_PAIRS_H
#define TW_BYTE_PAIRS_H

#include "binary.h"
#include "byte_words.h"
#include "walk_from.h"

/* Calls ROW with `context` and each piece of a row that is this core's. */
#define TW_OWN_ROWS(ROW, context, loops, a, b, y)                                                                   \
  do {                                                                                                              \
    const int32_t last = (loops)->rank - 1, length = (loops)->size[last];                                           \
    const int32_t step_a = (loops)->stride_a[last], step_b = (loops)->stride_b[last];                               \
    const tw_share mine = tw_share_in_blocks(tw_walk_length(last + 1, (loops)->size), 4);                           \
    if (mine.first >= mine.end) break;                                                                              \
    const int32_t row = last > 0 ? mine.first / length : 0;                                                         \
    int32_t at_a[TW_MAX_RANK], at_b[TW_MAX_RANK], column = mine.first - row * length;                               \
    int32_t from_a = tw_walk_from(last, (loops)->size, (loops)->stride_a, row, at_a);                               \
    int32_t from_b = tw_walk_from(last, (loops)->size, (loops)->stride_b, row, at_b);                               \
    for (int32_t i = mine.first; i < mine.end; column = 0) {                                                        \
      const int32_t count = tw_min(length - column, mine.end - i);                                                  \
      ROW(context, (a) + from_a + column * step_a, step_a, (b) + from_b + column * step_b, step_b, (y) + i, count); \
      i += count;                                                                                                   \
      tw_walk(last, (loops)->size, (loops)->stride_a, at_a, &from_a);                                               \
      tw_walk(last, (loops)->size, (loops)->stride_b, at_b, &from_b);                                               \
    }                                                                                                               \
  } while (0)

/* Whether words of a row can be taken: one after the other, or the same byte all the time. */
static inline int tw_comes_in_words(const void *place, int32_t step) {
  return step == 0 || (step == 1 && tw_begins_word(place));
}

/* Some elements of a row, where they begin with words if `are_words`. */
#define TW_BYTE_PAIRS_LOOP(FOUR, EVEN, p, a, step_a, b, step_b, y, count, are_words)                                \
  for (; (count) > 0; (count) -= 4, (a) += 4 * (step_a), (b) += 4 * (step_b), (y) += 4) {                           \
    const int32_t lanes = (are_words) ? 4 : tw_min(count, 4);                                                       \
    const uint32_t left = tw_bytes_at(a, step_a, lanes, are_words);                                                 \
    const uint32_t right = tw_bytes_at(b, step_b, lanes, are_words);                                                \
    int32_t x[4];                                                                                                   \
    FOUR(p, left, right, EVEN, x);                                                                                  \
    if (are_words) {                                                                                                \
      *(uint32_t *)(void *)(y) = (uint32_t)tw_x_add4((int32_t)tw_four_bytes(x[0], x[1], x[2], x[3]), low);          \
    } else {                                                                                                        \
      for (int32_t lane = 0; lane < lanes; lane++) (y)[lane] = (TW_Y)(x[lane] + (p)->low);                          \
    }                                                                                                               \
  }

/* One row of bytes: FOUR takes the parameters, a word of each operand and whether ties go to the even neighbour, and gives four
 * results less the lowest one, which is the parameters' `low`. */
#define TW_BYTE_PAIRS_ROW(NAME, PARAMS, FOUR, EVEN)                                                                 \
  static __attribute__((noinline)) void NAME(const PARAMS *params, const TW_A *a, int32_t step_a, const TW_B *b,    \
                                             int32_t step_b, TW_Y *y, int32_t count) {                              \
    const PARAMS own = *params, *const p = &own;                                                                    \
    const int32_t low = (int32_t)(TW_EVERY_LANE * (uint8_t)p->low);                                                 \
    const uint32_t all_a = TW_EVERY_LANE * (uint8_t)a[0], all_b = TW_EVERY_LANE * (uint8_t)b[0];                    \
    const uint8_t *next_a = step_a ? (const uint8_t *)a : (const uint8_t *)&all_a;                                  \
    const uint8_t *next_b = step_b ? (const uint8_t *)b : (const uint8_t *)&all_b;                                  \
    int32_t rest = count;                                                                                           \
    if (tw_comes_in_words(a, step_a) && tw_comes_in_words(b, step_b) && tw_begins_word(y)) {                        \
      rest = count & 3;                                                                                             \
      count -= rest;                                                                                                \
      TW_BYTE_PAIRS_LOOP(FOUR, EVEN, p, next_a, step_a, next_b, step_b, y, count, 1)                                \
    }                                                                                                               \
    TW_BYTE_PAIRS_LOOP(FOUR, EVEN, p, next_a, step_a, next_b, step_b, y, rest, 0)                                   \
  }

#define TW_BYTE_PAIRS(PARAMS, FOUR)                                                                                 \
  TW_BYTE_PAIRS_ROW(tw_row_half_up, PARAMS, FOUR, 0)                                                                \
  TW_BYTE_PAIRS_ROW(tw_row_half_even, PARAMS, FOUR, 1)                                                              \
  void TW_NAME(const PARAMS *params, const TW_A *a, const TW_B *b, TW_Y *y) {                                       \
    if (params->out.even) {                                                                                         \
      TW_OWN_ROWS(tw_row_half_even, params, &params->loops, a, b, y);                                               \
    } else {                                                                                                        \
      TW_OWN_ROWS(tw_row_half_up, params, &params->loops, a, b, y);                                                 \
    }                                                                                                               \
  }

#endif
