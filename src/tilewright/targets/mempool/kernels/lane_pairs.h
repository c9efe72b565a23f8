/* Defines a kernel on two tensors of bytes or words, broadcast, for all cores together: TW_LANE_PAIRS(function of two words,
 * function of two elements). Rows of bytes come four elements at a time where words begin with them. */
#ifndef TW_LANE_PAIRS_H
#define TW_LANE_PAIRS_H

#include "byte_pairs.h"

/* A function of packed bytes, or of words. */
#define TW_PACKED(of_signed, of_unsigned, of_words, a, b)                                                           \
  (uint32_t)(sizeof(TW_Y) == 4        ? of_words((int32_t)(a), (int32_t)(b))                                        \
             : TW_IS_SIGNED(TW_Y) ? of_signed((int32_t)(a), (int32_t)(b))                                           \
                                  : of_unsigned((int32_t)(a), (int32_t)(b)))

#define TW_ALL_LANES(x) (sizeof(TW_Y) == 4 ? (uint32_t)(x) : TW_EVERY_LANE * (uint8_t)(x))

#define TW_LANE_PAIRS(OF_WORDS, OF_ELEMENTS)                                                                        \
  static __attribute__((noinline)) void tw_row(const void *none, const TW_A *a, int32_t step_a, const TW_B *b,      \
                                               int32_t step_b, TW_Y *y, int32_t count) {                            \
    (void)none;                                                                                                     \
    if (tw_comes_in_words(a, step_a) && tw_comes_in_words(b, step_b) && tw_begins_word(y)) {                        \
      const uint32_t all_a = TW_ALL_LANES(a[0]), all_b = TW_ALL_LANES(b[0]);                                        \
      const uint32_t *next_a = step_a ? (const uint32_t *)(const void *)a : &all_a;                                 \
      const uint32_t *next_b = step_b ? (const uint32_t *)(const void *)b : &all_b;                                 \
      uint32_t *to = (uint32_t *)(void *)y;                                                                         \
      const int32_t each = 4 / (int32_t)sizeof(TW_Y), done = count & ~(each - 1);                                   \
      int32_t words = done / each;                                                                                  \
      for (; words >= 4; words -= 4, next_a += 4 * step_a, next_b += 4 * step_b, to += 4) {                         \
        const uint32_t a0 = next_a[0], a1 = next_a[step_a], a2 = next_a[2 * step_a], a3 = next_a[3 * step_a];       \
        const uint32_t b0 = next_b[0], b1 = next_b[step_b], b2 = next_b[2 * step_b], b3 = next_b[3 * step_b];       \
        to[0] = OF_WORDS(a0, b0), to[1] = OF_WORDS(a1, b1), to[2] = OF_WORDS(a2, b2), to[3] = OF_WORDS(a3, b3);     \
      }                                                                                                             \
      for (; words > 0; words--, next_a += step_a, next_b += step_b) *to++ = OF_WORDS(*next_a, *next_b);            \
      a += done * step_a, b += done * step_b, y += done, count -= done;                                             \
    }                                                                                                               \
    for (; count > 0; count--, a += step_a, b += step_b) *y++ = (TW_Y)OF_ELEMENTS(*a, *b);                          \
  }                                                                                                                 \
  void TW_NAME(const tw_binary_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {                             \
    TW_OWN_ROWS(tw_row, params, params, a, b, y);                                                                   \
  }

#endif
