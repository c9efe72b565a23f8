/* A kernel includes this after it has said what TW_Y, TW_E_DOT and TW_E_FIRST are.
 *
 * Filters of three rows that walk down a plane without stride: a word of the plane is loaded once and meets all three rows
 * of the filter, the last of one result, the middle of the next and the first of the one after. Totals of two rows of
 * results are open at a time and change places, so that two rows are one turn. */
#ifndef TW_DEPTHWISE_DOWN_H
#define TW_DEPTHWISE_DOWN_H

#include "columns.h"
#include "depthwise_down_rows.h"
#include "dot.h"
#include "xpulp.h"

typedef struct {
  int32_t pitch;  /* of the plane */
  int32_t pairs;  /* of rows of results */
  int32_t odd;    /* whether there is one row more */
  int32_t across; /* columns, of one or two results */
  int32_t y_step; /* from a result to its neighbour */
  int32_t y_next; /* from the last result of a row to the next row */
  int32_t back;   /* of the plane, from behind a column to the next */
  int32_t y_back; /* the same of y */
} tw_down;

/* Columns of `at_once` results each, in so many rows of an output of `width` pixels of `groups` channels. */
static inline tw_down tw_down_of(int32_t pitch, int32_t across, int32_t rows, int32_t at_once, int32_t width,
                                 int32_t groups) {
  const tw_down d = {pitch,  rows >> 1, rows & 1, across, groups, (width - at_once + 1) * groups,
                     at_once - (rows + 2) * pitch, (at_once - rows * width) * groups};
  return d;
}

/* %0: the plane; %1 and %2: its words in turn; %3: y; %4 to %7: totals. The last total to begin with a word does so behind
 * the load of the next one, whose value takes a cycle more: `old` is the word before `new`. */
#define TW_A_DOWN_WORD(word) TW_A_LW_STEP(word, "%0", "%[pitch]")
#define TW_A_DOWN_BYTE(t, step)                                                                           \
  TW_A_R(TW_E_ADDN, t, "%[add]", "%[shift]") TW_A_CLIP_BYTE(t, "%[high]") TW_A_SB_STEP(t, "%3", step)
#define TW_A_DOWN_LESS(t) TW_A_R(TW_E_MAC, t, t, "%[less]")

/* The last row of the filter for one or two results that end, and the middle one for those that have begun. */
#define TW_A_LAST_TWO(p0, p1, new)                                                                        \
  TW_A_DOT(p0, new, "%[w2]") TW_A_DOT(p1, new, "%[v2]") TW_A_DOWN_LESS(p0) TW_A_DOWN_LESS(p1)              \
  TW_A_DOWN_BYTE(p0, "%[y_step]") TW_A_DOWN_BYTE(p1, "%[y_next]")
#define TW_A_END_TWO(p0, p1, new) TW_A_DOWN_WORD(new) TW_A_LAST_TWO(p0, p1, new)
#define TW_A_TURN_TWO(p0, p1, q0, q1, old, new)                                                           \
  TW_A_DOWN_WORD(new) TW_A_DOT_FIRST(q1, old, "%[v0]") TW_A_LAST_TWO(p0, p1, new)                          \
  TW_A_DOT(q0, new, "%[w1]") TW_A_DOT(q1, new, "%[v1]") TW_A_DOT_FIRST(p0, new, "%[w0]")
#define TW_A_BEGIN_TWO                                                                                    \
  TW_A_DOWN_WORD("%1") TW_A_DOWN_WORD("%2") TW_A_DOT_FIRST("%4", "%1", "%[w0]") TW_A_DOT_FIRST("%5", "%1", "%[v0]") \
  TW_A_DOT("%4", "%2", "%[w1]") TW_A_DOT("%5", "%2", "%[v1]") TW_A_DOT_FIRST("%6", "%2", "%[w0]")
#define TW_A_LAST_ONE(p, new) TW_A_DOT(p, new, "%[w2]") TW_A_DOWN_LESS(p) TW_A_DOWN_BYTE(p, "%[y_next]")
#define TW_A_END_ONE(p, new) TW_A_DOWN_WORD(new) TW_A_LAST_ONE(p, new)
#define TW_A_TURN_ONE(p, q, old, new)                                                                     \
  TW_A_DOWN_WORD(new) TW_A_DOT_FIRST(q, old, "%[w0]") TW_A_LAST_ONE(p, new) TW_A_DOT(q, new, "%[w1]")
#define TW_A_BEGIN_ONE                                                                                    \
  TW_A_DOWN_WORD("%1") TW_A_DOWN_WORD("%2") TW_A_DOT_FIRST("%4", "%1", "%[w0]") TW_A_DOT("%4", "%2", "%[w1]")

/* All columns: `begin`, `turn` and `end` are the numbers of instructions of each. */
#define TW_A_DOWN(BEGIN, begin, TURNS, turns, END, end)                                                   \
  TW_A_BEGIN TW_A_OUTER_LOOP("%[across]", (begin + 1 + turns + 1 + end + 2)) BEGIN TW_A_LOOP("%[pairs]", turns) TURNS \
  "beqz %[odd], 1f\n" END "1:\nadd %0, %0, %[back]\nadd %3, %3, %[y_back]\n" TW_A_END
#define TW_DOWN_OPERANDS                                                                                  \
  [pitch] "r"(d->pitch), [pairs] "r"(d->pairs), [odd] "r"(d->odd), [across] "r"(d->across), [y_next] "r"(d->y_next), \
      [back] "r"(d->back), [y_back] "r"(d->y_back), [w0] "r"(taps[0]), [w1] "r"(taps[1]), [w2] "r"(taps[2]),   \
      [less] "r"(c->mul[f] - 1), [add] "r"(c->add[f]), [shift] "r"(c->shift), [high] "r"(c->high),           \
      [dot] "i"(TW_E_DOT), [first] "i"(TW_E_FIRST), [clip] "i"(TW_Y_SIGNED ? TW_I_CLIP : TW_I_CLIPU)

/* Channel f of four that are requantised as `c` says (TW_SMALL), with at most three taps in each row: a word of the plane
 * has those of two results. */
static __attribute__((noinline)) void tw_down_two(const tw_columns *c, const uint32_t *taps, int f, const uint8_t *plane,
                                                  const tw_down *d, TW_Y *y) {
  uint32_t old, new, p0, p1, q0, q1;
  __asm__ volatile(TW_A_DOWN(TW_A_BEGIN_TWO, 7,
                             TW_A_TURN_TWO("%4", "%5", "%6", "%7", "%2", "%1")
                             TW_A_TURN_TWO("%6", "%7", "%4", "%5", "%1", "%2"),
                             30, TW_A_END_TWO("%4", "%5", "%1"), 11)
                   : "+r"(plane), "=&r"(old), "=&r"(new), "+r"(y), "=&r"(p0), "=&r"(p1), "=&r"(q0), "=&r"(q1)
                   : TW_DOWN_OPERANDS, [y_step] "r"(d->y_step), [v0] "r"(taps[0] << 8), [v1] "r"(taps[1] << 8),
                     [v2] "r"(taps[2] << 8)
                   : "memory");
}

/* The same for at most four taps in a row, and one result. */
static __attribute__((noinline)) void tw_down_one(const tw_columns *c, const uint32_t *taps, int f, const uint8_t *plane,
                                                  const tw_down *d, TW_Y *y) {
  uint32_t old, new, p, q;
  __asm__ volatile(TW_A_DOWN(TW_A_BEGIN_ONE, 4,
                             TW_A_TURN_ONE("%4", "%5", "%2", "%1") TW_A_TURN_ONE("%5", "%4", "%1", "%2"), 16,
                             TW_A_END_ONE("%4", "%1"), 6)
                   : "+r"(plane), "=&r"(old), "=&r"(new), "+r"(y), "=&r"(p), "=&r"(q)
                   : TW_DOWN_OPERANDS
                   : "memory");
}

#endif
