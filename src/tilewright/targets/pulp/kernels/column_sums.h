/* Sums of four neighbouring columns of bytes. */
#ifndef TW_COLUMN_SUMS_H
#define TW_COLUMN_SUMS_H

#include "dot.h"

typedef struct {
  int32_t sum[4];
} state;

static inline state start(void) { return (state){{0, 0, 0, 0}}; }

/* Products with a one in one place and zeros in the others pick a byte and add it. */
static inline int32_t add_byte(int32_t sum, uint32_t word, int lane) {
  const int is_signed = (TW_X)-1 < 0;
  return is_signed ? tw_x_sdotsp4(sum, word, 1u << (8 * lane)) : tw_x_sdotup4(sum, word, 1u << (8 * lane));
}

static inline state with(state total, uint32_t word) {
  for (int i = 0; i < 4; i++) total.sum[i] = add_byte(total.sum[i], word, i);
  return total;
}

#if TW_XPULP

#define TW_A_ADD_LANES(word)                                                                              \
  TW_A_DOT("%[s0]", word, "%[l0]") TW_A_DOT("%[s1]", word, "%[l1]") TW_A_DOT("%[s2]", word, "%[l2]")       \
  TW_A_DOT("%[s3]", word, "%[l3]")

/* Two words a turn. */
#define TW_HAS_WITH_PAIRS
static inline state with_pairs(state total, const uint8_t **x, int32_t pairs, int32_t step) {
  uint32_t first, second;
  if (pairs <= 0) return total;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 10) TW_A_LW_STEP("%[first]", "%[x]", "%[step]")
                       TW_A_LW_STEP("%[second]", "%[x]", "%[step]") TW_A_ADD_LANES("%[first]")
                       TW_A_ADD_LANES("%[second]") TW_A_END
                   : [x] "+r"(*x), [first] "=&r"(first), [second] "=&r"(second), [s0] "+r"(total.sum[0]),
                     [s1] "+r"(total.sum[1]), [s2] "+r"(total.sum[2]), [s3] "+r"(total.sum[3])
                   : [pairs] "r"(pairs), [step] "r"(step), [l0] "r"(1), [l1] "r"(1 << 8), [l2] "r"(1 << 16),
                     [l3] "r"(1 << 24), [dot] "i"(TW_I_DOT((TW_X)-1 < 0, (TW_X)-1 < 0))
                   : "memory");
  return total;
}

#endif

#endif
