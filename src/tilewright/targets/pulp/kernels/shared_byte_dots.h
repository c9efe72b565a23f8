/* Products of rows of bytes with a vector of bytes, by one core of several. Words may lie at any address. */
#ifndef TW_SHARED_BYTE_DOTS_H
#define TW_SHARED_BYTE_DOTS_H

#include "xpulp.h"

/* What is left of a row behind whole words. */
static inline int32_t rest_of_dot(const int8_t *row, const int8_t *h, int32_t hidden) {
  int32_t sum = 0;
  for (int32_t k = hidden & ~3; k < hidden; k++) sum += row[k] * h[k];
  return sum;
}

static inline int32_t one_dot(const int8_t *row, const int8_t *h, int32_t hidden) {
  int32_t sum = rest_of_dot(row, h, hidden);
  for (int32_t k = 0; k + 4 <= hidden; k += 4) sum = tw_x_sdotsp4(sum, tw_x_load(row + k), tw_x_load(h + k));
  return sum;
}

/* Four rows meet each word of h: nine instructions for 16 products. There is at least one word. */
static inline void four_dots(const int8_t *row, const int8_t *h, int32_t hidden, int32_t *sums) {
  const int8_t *r1 = row + hidden, *r2 = r1 + hidden, *r3 = r2 + hidden;
  int32_t s0 = rest_of_dot(row, h, hidden), s1 = rest_of_dot(r1, h, hidden);
  int32_t s2 = rest_of_dot(r2, h, hidden), s3 = rest_of_dot(r3, h, hidden);
#if TW_XPULP
  int32_t word, a, b, c, d;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[turns]", 9)
      TW_A_LW("%[word]", "%[h]", "4") TW_A_LW("%[a]", "%[r0]", "4") TW_A_LW("%[b]", "%[r1]", "4")
      TW_A_LW("%[c]", "%[r2]", "4") TW_A_LW("%[d]", "%[r3]", "4") TW_A_R(TW_E_SDOTSP4, "%[s0]", "%[a]", "%[word]")
      TW_A_R(TW_E_SDOTSP4, "%[s1]", "%[b]", "%[word]") TW_A_R(TW_E_SDOTSP4, "%[s2]", "%[c]", "%[word]")
      TW_A_R(TW_E_SDOTSP4, "%[s3]", "%[d]", "%[word]") TW_A_END
      : [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2), [s3] "+r"(s3), [h] "+r"(h), [r0] "+r"(row), [r1] "+r"(r1),
        [r2] "+r"(r2), [r3] "+r"(r3), [word] "=&r"(word), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
      : [turns] "r"(hidden >> 2)
      : "memory");
#else
  for (int32_t k = 0; k + 4 <= hidden; k += 4) {
    const uint32_t word = tw_x_load(h + k);
    s0 = tw_x_sdotsp4(s0, tw_x_load(row + k), word);
    s1 = tw_x_sdotsp4(s1, tw_x_load(r1 + k), word);
    s2 = tw_x_sdotsp4(s2, tw_x_load(r2 + k), word);
    s3 = tw_x_sdotsp4(s3, tw_x_load(r3 + k), word);
  }
#endif
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

static inline void tw_byte_dots(const int8_t *r, const int8_t *h, int32_t hidden, int32_t first, int32_t end,
                                int32_t *sums) {
  int32_t i = first;
  for (; i + 4 <= end && hidden >= 4; i += 4) four_dots(r + i * hidden, h, hidden, sums + i);
  for (; i < end; i++) sums[i] = one_dot(r + i * hidden, h, hidden);
}

#endif
