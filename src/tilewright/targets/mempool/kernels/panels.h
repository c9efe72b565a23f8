/* Panels: four rows of bytes side by side, a word of each in turn. Unsigned bytes become signed ones, 128 less; rows that are
 * missing and bytes behind a row's end are zeros. A block is the sums of the products of two panels, 4 x 4.
 *
 * Where operands have other zeros than 0, what that adds to a sum is told by the sums of rows. */
#ifndef TW_PANELS_H
#define TW_PANELS_H

#include "cluster.h"
#include "panels_sizes.h"
#include "tw.h"
#include "xpulp.h"

#define TW_ONES 0x01010101u
#define TW_SIGNS 0x80808080u

/* What turns bytes of a type into signed ones, and the integer that then stands for zero. */
#define TW_FLIP(type) ((type)-1 < 0 ? 0 : TW_SIGNS)
#define TW_FLIPPED_ZERO(type, zero) tw_flipped_zero((type)-1 < 0, zero)

/* ---- sums of products ---- */

#define TW_DOT(total, a, b) TW_A_R(TW_E_SDOTSP4, "%[" total "]", "%[" a "]", "%[" b "]")
#define TW_NEXT(word, panel) TW_A_LW("%[" word "]", "%[" panel "]", "4")
#define TW_BEGIN(total, at) "lw %[" total "], " at "(%[a0])\n"
#define TW_SAME(total, other) "mv %[" total "], %[" other "]\n"

/* Sums of a block begin with those of its columns; rows of totals are `step` apart.
 *
 * A word of each row is loaded as soon as the one before is no longer needed: some cycles before its use, while other loads
 * are on the way. The loop fits the core's own instruction cache. */
static __attribute__((noinline)) void tw_block(const uint32_t *a, const uint32_t *b, int32_t words, const int32_t *start,
                                               int32_t *total, int32_t step) {
#if TW_XPULP
  int32_t t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15;
  uint32_t a0 = (uint32_t)(uintptr_t)start, a1, a2, a3, b0, b1, b2, b3;
  const uint32_t *const end = a + TW_PANEL * words;
  __asm__ volatile(
      TW_BEGIN("t0", "0") TW_BEGIN("t1", "4") TW_BEGIN("t2", "8") TW_BEGIN("t3", "12")
      TW_NEXT("a0", "a") TW_NEXT("b0", "b") TW_NEXT("b1", "b") TW_NEXT("b2", "b")
      TW_SAME("t4", "t0") TW_SAME("t5", "t1") TW_SAME("t6", "t2") TW_SAME("t7", "t3")
      TW_NEXT("b3", "b") TW_NEXT("a1", "a") TW_NEXT("a2", "a") TW_NEXT("a3", "a")
      TW_SAME("t8", "t0") TW_SAME("t9", "t1") TW_SAME("t10", "t2") TW_SAME("t11", "t3")
      TW_SAME("t12", "t0") TW_SAME("t13", "t1") TW_SAME("t14", "t2") TW_SAME("t15", "t3")
      "beq %[a], %[end], 2f\n"
      ".balign 32\n"
      "1:\n"
      TW_DOT("t0", "a0", "b0") TW_DOT("t1", "a0", "b1") TW_DOT("t2", "a0", "b2") TW_DOT("t3", "a0", "b3") TW_NEXT("a0", "a")
      TW_DOT("t4", "a1", "b0") TW_DOT("t5", "a1", "b1") TW_DOT("t6", "a1", "b2") TW_DOT("t7", "a1", "b3") TW_NEXT("a1", "a")
      TW_DOT("t8", "a2", "b0") TW_DOT("t9", "a2", "b1") TW_DOT("t10", "a2", "b2") TW_DOT("t11", "a2", "b3") TW_NEXT("a2", "a")
      TW_DOT("t12", "a3", "b0") TW_NEXT("b0", "b")
      TW_DOT("t13", "a3", "b1") TW_NEXT("b1", "b")
      TW_DOT("t14", "a3", "b2") TW_NEXT("b2", "b")
      TW_DOT("t15", "a3", "b3") TW_NEXT("b3", "b")
      TW_NEXT("a3", "a")
      "bne %[a], %[end], 1b\n"
      "2:\n"
      TW_DOT("t0", "a0", "b0") TW_DOT("t1", "a0", "b1") TW_DOT("t2", "a0", "b2") TW_DOT("t3", "a0", "b3")
      TW_DOT("t4", "a1", "b0") TW_DOT("t5", "a1", "b1") TW_DOT("t6", "a1", "b2") TW_DOT("t7", "a1", "b3")
      TW_DOT("t8", "a2", "b0") TW_DOT("t9", "a2", "b1") TW_DOT("t10", "a2", "b2") TW_DOT("t11", "a2", "b3")
      TW_DOT("t12", "a3", "b0") TW_DOT("t13", "a3", "b1") TW_DOT("t14", "a3", "b2") TW_DOT("t15", "a3", "b3")
      : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5), [t6] "=&r"(t6),
        [t7] "=&r"(t7), [t8] "=&r"(t8), [t9] "=&r"(t9), [t10] "=&r"(t10), [t11] "=&r"(t11), [t12] "=&r"(t12),
        [t13] "=&r"(t13), [t14] "=&r"(t14), [t15] "=&r"(t15), [a] "+r"(a), [b] "+r"(b), [a0] "+r"(a0), [a1] "=&r"(a1),
        [a2] "=&r"(a2), [a3] "=&r"(a3), [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3)
      : [end] "r"(end)
      : "memory");
  total[0] = t0, total[1] = t1, total[2] = t2, total[3] = t3, total += step;
  total[0] = t4, total[1] = t5, total[2] = t6, total[3] = t7, total += step;
  total[0] = t8, total[1] = t9, total[2] = t10, total[3] = t11, total += step;
  total[0] = t12, total[1] = t13, total[2] = t14, total[3] = t15;
#else
  for (int i = 0; i < TW_BLOCK; i++) {
    int32_t sum = start[i % TW_PANEL];
    for (int32_t w = 0; w < words; w++) sum = tw_x_sdotsp4(sum, a[w * TW_PANEL + i / TW_PANEL], b[w * TW_PANEL + i % TW_PANEL]);
    total[i / TW_PANEL * step + i % TW_PANEL] = sum;
  }
#endif
}

static inline int32_t tw_row_sum(const uint32_t *row, int32_t words) {
  int32_t sum = 0;
  for (; words > 0; words--, row += TW_PANEL) sum = tw_x_sdotsp4(sum, *row, TW_ONES);
  return sum;
}

/* Where a row begins among panels. */
static inline uint32_t *tw_panel_row(uint32_t *panels, int32_t row, int32_t words) {
  return panels + row / TW_PANEL * TW_PANEL * words + row % TW_PANEL;
}

/* ---- filling panels ---- */

/* Up to four bytes; what is missing is such that flipping makes zeros of it. */
static inline uint32_t tw_word_of_bytes(const uint8_t *from, int32_t step, int32_t count, uint32_t flip) {
  uint32_t word = from[0];
  word |= count > 1 ? (uint32_t)from[step] << 8 : flip & 0xff00u;
  word |= count > 2 ? (uint32_t)from[2 * step] << 16 : flip & 0xff0000u;
  word |= count > 3 ? (uint32_t)from[3 * step] << 24 : flip & 0xff000000u;
  return word ^ flip;
}

/* Bytes side by side to words of a row of a panel; returns the place behind them. */
static inline uint32_t *tw_fill_run(uint32_t *to, const uint8_t *from, int32_t bytes, uint32_t flip) {
  int32_t words = bytes >> 2;
  if (((uintptr_t)from & 3) == 0) {
    const uint32_t *word = (const uint32_t *)(const void *)from;
    from += 4 * words;
    for (; words >= 4; words -= 4, word += 4, to += 4 * TW_PANEL) {
      const uint32_t w0 = word[0], w1 = word[1], w2 = word[2], w3 = word[3];
      to[0] = w0 ^ flip, to[TW_PANEL] = w1 ^ flip, to[2 * TW_PANEL] = w2 ^ flip, to[3 * TW_PANEL] = w3 ^ flip;
    }
    for (; words > 0; words--, to += TW_PANEL) *to = *word++ ^ flip;
  }
  for (; words > 0; words--, from += 4, to += TW_PANEL) *to = tw_word_of_bytes(from, 1, 4, flip);
  if (bytes & 3) {
    *to = tw_word_of_bytes(from, 1, bytes & 3, flip);
    to += TW_PANEL;
  }
  return to;
}

/* One row: bytes that lie `along` apart. */
static inline void tw_fill_row(uint32_t *to, const uint8_t *from, int32_t along, int32_t length, uint32_t flip) {
  if (along == 1) {
    tw_fill_run(to, from, length, flip);
    return;
  }
  for (; length > 0; length -= 4, from += 4 * along, to += TW_PANEL) {
    *to = tw_word_of_bytes(from, along, tw_min(length, 4), flip);
  }
}

static inline void tw_fill_zeros(uint32_t *to, int32_t words) {
  for (; words > 0; words--, to += TW_PANEL) *to = 0;
}

#endif
