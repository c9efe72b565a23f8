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

#define TW_FOUR_RESULTS(ONE, EVEN, p, left, right)                                                                  \
  tw_four_bytes(ONE(p, TW_LANE(TW_A, left, 0), TW_LANE(TW_B, right, 0), EVEN),                                      \
                ONE(p, TW_LANE(TW_A, left, 1), TW_LANE(TW_B, right, 1), EVEN),                                      \
                ONE(p, TW_LANE(TW_A, left, 2), TW_LANE(TW_B, right, 2), EVEN),                                      \
                ONE(p, TW_LANE(TW_A, left, 3), TW_LANE(TW_B, right, 3), EVEN))

/* One row of bytes: ONE takes the parameters, two elements and whether ties go to the even neighbour, and gives the
 * result less the lowest one, which is the parameters' `low`. Words are loaded some instructions before their use. */
#define TW_BYTE_PAIRS_ROW(NAME, PARAMS, ONE, EVEN)                                                                  \
  static __attribute__((noinline)) void NAME(const PARAMS *params, const TW_A *a, int32_t step_a, const TW_B *b,    \
                                             int32_t step_b, TW_Y *y, int32_t count) {                              \
    const PARAMS own = *params, *const p = &own;                                                                    \
    const int32_t low = (int32_t)(TW_EVERY_LANE * (uint8_t)p->low);                                                 \
    if (tw_comes_in_words(a, step_a) && tw_comes_in_words(b, step_b) && tw_begins_word(y)) {                        \
      const uint32_t all_a = TW_EVERY_LANE * (uint8_t)a[0], all_b = TW_EVERY_LANE * (uint8_t)b[0];                  \
      const uint32_t *next_a = step_a ? (const uint32_t *)(const void *)a : &all_a;                                 \
      const uint32_t *next_b = step_b ? (const uint32_t *)(const void *)b : &all_b;                                 \
      uint32_t *to = (uint32_t *)(void *)y;                                                                         \
      const int32_t words = count >> 2;                                                                             \
      int32_t left_over = words;                                                                                    \
      for (; left_over >= 2; left_over -= 2, next_a += 2 * step_a, next_b += 2 * step_b, to += 2) {                 \
        const uint32_t a0 = next_a[0], b0 = next_b[0], a1 = next_a[step_a], b1 = next_b[step_b];                    \
        to[0] = (uint32_t)tw_x_add4((int32_t)TW_FOUR_RESULTS(ONE, EVEN, p, a0, b0), low);                           \
        to[1] = (uint32_t)tw_x_add4((int32_t)TW_FOUR_RESULTS(ONE, EVEN, p, a1, b1), low);                           \
      }                                                                                                             \
      if (left_over) *to = (uint32_t)tw_x_add4((int32_t)TW_FOUR_RESULTS(ONE, EVEN, p, *next_a, *next_b), low);      \
      a += 4 * words * step_a, b += 4 * words * step_b, y += 4 * words, count &= 3;                                 \
    }                                                                                                               \
    for (; count > 0; count--, a += step_a, b += step_b) *y++ = (TW_Y)(ONE(p, *a, *b, EVEN) + p->low);              \
  }

#define TW_BYTE_PAIRS(PARAMS, ONE)                                                                                  \
  TW_BYTE_PAIRS_ROW(tw_row_half_up, PARAMS, ONE, 0)                                                                 \
  TW_BYTE_PAIRS_ROW(tw_row_half_even, PARAMS, ONE, 1)                                                               \
  void TW_NAME(const PARAMS *params, const TW_A *a, const TW_B *b, TW_Y *y) {                                       \
    if (params->out.even) {                                                                                         \
      TW_OWN_ROWS(tw_row_half_even, params, &params->loops, a, b, y);                                               \
    } else {                                                                                                        \
      TW_OWN_ROWS(tw_row_half_up, params, &params->loops, a, b, y);                                                 \
    }                                                                                                               \
  }

#endif
