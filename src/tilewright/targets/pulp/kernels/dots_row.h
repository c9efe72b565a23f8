/* One row of 8-bit integers meets four others, all contiguous along the sum. */
#ifndef TW_DOTS_ROW_H
#define TW_DOTS_ROW_H

#include "dot.h"

/* How rows are walked along. Offsets are known to the assembly in dots.h. */
typedef struct {
  int32_t step;   /* bytes from row to row */
  int32_t back;   /* from the last row to the first one's next word */
  int32_t words;  /* whole words along the sum; at least one */
  int32_t rewind; /* bytes that the last word goes back, if the rows are no whole words */
  int32_t mask;   /* which of the last word's bytes count; 0: none, all words are whole */
} tw_dots_rows;

/* Rows of `length` bytes, at least four. */
static inline void tw_dots_rows_length(tw_dots_rows *d, int32_t length, int32_t step) {
  const int32_t rest = length & 3;
  d->step = step;
  d->back = 4 - 3 * step;
  d->words = length >> 2;
  d->rewind = 4 - rest;
  d->mask = rest ? (int32_t)(0xffffffffu << (8 * (4 - rest))) : 0;
}

#if TW_XPULP
#define TW_DEFINE_DOTS_ROW(NAME, DOT)                                                                           \
  static inline __attribute__((always_inline)) void NAME(const uint8_t **a, const uint8_t **b, const tw_dots_rows *d,      \
                                                         int32_t *t, int is_ss, int is_uu) {                    \
    int32_t a0, b0, b1, b2, b3 = d->words;                                                                      \
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%10", 9) TW_A_LW("%6", "%4", "4")                                    \
            TW_A_LW_STEP("%7", "%5", "%11") TW_A_LW_STEP("%8", "%5", "%11")                                     \
            TW_A_LW_STEP("%9", "%5", "%11") TW_A_LW_STEP("%10", "%5", "%12")                                    \
            DOT("%0", "%6", "%7") DOT("%1", "%6", "%8") DOT("%2", "%6", "%9") DOT("%3", "%6", "%10") TW_A_END   \
            : "+r"(t[0]), "+r"(t[1]), "+r"(t[2]), "+r"(t[3]), "+r"(*a), "+r"(*b), "=&r"(a0), "=&r"(b0),         \
              "=&r"(b1), "=&r"(b2), "+r"(b3)                                                                    \
            : "r"(d->step), "r"(d->back), [dot] "i"(is_ss ? TW_I_DOT_SS : is_uu ? TW_I_DOT_UU : TW_I_DOT_US)    \
            : "memory");                                                                                        \
  }
TW_DEFINE_DOTS_ROW(tw_dots_row_in_order, TW_A_DOT)
TW_DEFINE_DOTS_ROW(tw_dots_row_swapped, TW_A_DOT_SWAPPED)
#endif

/* total[f] += one row of a times row f of b, for four rows of b. */
static inline __attribute__((always_inline)) void tw_dots_row(const tw_dots_rows *d, const void *row, const void *rows_b,
                                                              int32_t *total, int a_signed, int b_signed) {
  const uint8_t *a = row, *b = rows_b;
#if TW_XPULP
  if (a_signed && !b_signed) {
    tw_dots_row_swapped(&a, &b, d, total, 0, 0);
  } else {
    tw_dots_row_in_order(&a, &b, d, total, a_signed && b_signed, !a_signed && !b_signed);
  }
#else
  for (int32_t i = 0; i < d->words; i++, a += 4, b += 4) {
    for (int f = 0; f < 4; f++) {
      total[f] = tw_dot(total[f], tw_x_load(a), tw_x_load(b + f * d->step), a_signed, b_signed);
    }
  }
#endif
  if (!d->mask) return;
  a -= d->rewind, b -= d->rewind;
  const uint32_t word = tw_x_load(a) & (uint32_t)d->mask;
  for (int f = 0; f < 4; f++, b += d->step) total[f] = tw_dot(total[f], word, tw_x_load(b), a_signed, b_signed);
}

#endif
