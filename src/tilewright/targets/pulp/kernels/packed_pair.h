/* One row of bytes meets two rows of packed weights (packed.h): each word of weights is masked, not shifted, so that codes
 * are bytes that are too large by a power of two, and have totals of their own. */
#ifndef TW_PACKED_PAIR_H
#define TW_PACKED_PAIR_H

#include "dot.h"

/* At least one word of codes times bytes of a row: low[i] + high[i] / 2^bits for row i of the weights. */
typedef struct {
  int32_t low[2], high[2];
} tw_pair_totals;

#if TW_XPULP

#define TW_A_AND(d, a, b) "and " d ", " a ", " b "\n"
/* Two fields of a word of weights v; the second time v may be lost. */
#define TW_A_TWO_FIELDS(low, high, v, from, to) \
  TW_A_AND("%[m]", v, "%[mask]") TW_A_DOT(low, "%[m]", from) TW_A_AND("%[m]", v, "%[above]") TW_A_DOT(high, "%[m]", to)
#define TW_PAIR_OUTPUTS                                                                                               \
  [l0] "+r"(t->low[0]), [l1] "+r"(t->low[1]), [h0] "+r"(t->high[0]), [h1] "+r"(t->high[1]), [a] "+r"(a), [w0] "+r"(w0), \
      [w1] "+r"(w1), [m] "+r"(words)
#define TW_PAIR_INPUTS [mask] "r"(mask), [above] "r"(mask << bits), [dot] "i"(TW_I_DOT(0, a_signed))

static inline __attribute__((always_inline)) void tw_packed_pair(const uint8_t *a, const uint8_t *w0, const uint8_t *w1,
                                                                 int32_t words, int32_t bits, tw_pair_totals *t,
                                                                 int a_signed) {
  const uint32_t mask = bits == 4 ? 0x0f0f0f0fu : 0x03030303u;
  uint32_t x0, x1, x2, x3, v0, v1;
  if (bits == 4) {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[m]", 12) TW_A_LW("%[x0]", "%[a]", "4") TW_A_LW("%[x1]", "%[a]", "4")
                     TW_A_LW("%[v0]", "%[w0]", "4") TW_A_LW("%[v1]", "%[w1]", "4")
                     TW_A_TWO_FIELDS("%[l0]", "%[h0]", "%[v0]", "%[x0]", "%[x1]")
                     TW_A_TWO_FIELDS("%[l1]", "%[h1]", "%[v1]", "%[x0]", "%[x1]") TW_A_END
                     : TW_PAIR_OUTPUTS, [x0] "=&r"(x0), [x1] "=&r"(x1), [v0] "=&r"(v0), [v1] "=&r"(v1)
                     : TW_PAIR_INPUTS
                     : "memory");
    return;
  }
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[m]", 24) TW_A_LW("%[x0]", "%[a]", "4") TW_A_LW("%[x1]", "%[a]", "4")
                   TW_A_LW("%[x2]", "%[a]", "4") TW_A_LW("%[x3]", "%[a]", "4") TW_A_LW("%[v0]", "%[w0]", "4")
                   TW_A_LW("%[v1]", "%[w1]", "4") TW_A_TWO_FIELDS("%[l0]", "%[h0]", "%[v0]", "%[x0]", "%[x1]")
                   TW_A_TWO_FIELDS("%[l1]", "%[h1]", "%[v1]", "%[x0]", "%[x1]") "srli %[v0], %[v0], 4\n"
                   "srli %[v1], %[v1], 4\n" TW_A_TWO_FIELDS("%[l0]", "%[h0]", "%[v0]", "%[x2]", "%[x3]")
                   TW_A_TWO_FIELDS("%[l1]", "%[h1]", "%[v1]", "%[x2]", "%[x3]") TW_A_END
                   : TW_PAIR_OUTPUTS, [x0] "=&r"(x0), [x1] "=&r"(x1), [x2] "=&r"(x2), [x3] "=&r"(x3),
                     [v0] "=&r"(v0), [v1] "=&r"(v1)
                   : TW_PAIR_INPUTS
                   : "memory");
}

/* The sum of whole words of bytes. */
static inline int32_t tw_words_sum(const uint8_t *a, int32_t words, int a_signed) {
  int32_t sum = 0;
  if (words == 0) return 0;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[x]", 3) TW_A_LW("%[x]", "%[a]", "4") "nop\n"
                   TW_A_DOT("%[sum]", "%[x]", "%[ones]") TW_A_END
                   : [sum] "+r"(sum), [a] "+r"(a), [x] "+r"(words)
                   : [ones] "r"(0x01010101), [dot] "i"(TW_I_DOT(a_signed, 1))
                   : "memory");
  return sum;
}

#else

static inline int32_t tw_words_sum(const uint8_t *a, int32_t words, int a_signed) {
  int32_t sum = 0;
  for (; words > 0; words--, a += 4) sum = tw_dot(sum, tw_x_load(a), 0x01010101u, a_signed, 1);
  return sum;
}

static inline void tw_packed_pair(const uint8_t *a, const uint8_t *w0, const uint8_t *w1, int32_t words, int32_t bits,
                                  tw_pair_totals *t, int a_signed) {
  const uint32_t mask = bits == 4 ? 0x0f0f0f0fu : 0x03030303u;
  for (; words > 0; words--, w0 += 4, w1 += 4) {
    for (int32_t shift = 0; shift < 8; shift += 2 * bits, a += 8) {
      const uint32_t v0 = tw_x_load(w0) >> shift, v1 = tw_x_load(w1) >> shift;
      t->low[0] = tw_dot(t->low[0], v0 & mask, tw_x_load(a), 0, a_signed);
      t->low[1] = tw_dot(t->low[1], v1 & mask, tw_x_load(a), 0, a_signed);
      t->high[0] = tw_dot(t->high[0], v0 & mask << bits, tw_x_load(a + 4), 0, a_signed);
      t->high[1] = tw_dot(t->high[1], v1 & mask << bits, tw_x_load(a + 4), 0, a_signed);
    }
  }
}

#endif

#endif
