/* Four rows of bytes meet four others: totals of a block in registers, and lines of assembly for a turn of it, which is one
 * word of each row, and for what its totals become. */
#ifndef TW_DOTS_TURN_H
#define TW_DOTS_TURN_H

#include "dot.h"

#if TW_XPULP

/* The assembly of a block is one string, longer than C99 asks compilers to take. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

/* Totals. What has to be loaded and stored outside the loop lies in s0, s1 and a0 to a5, where instructions are short: a
 * block of all whole words then fits the 512 bytes of a core's own instruction cache. */
#define TW_T00 "ra"
#define TW_T01 "t0"
#define TW_T02 "t1"
#define TW_T03 "t2"
#define TW_T10 "t3"
#define TW_T11 "t4"
#define TW_T12 "a6"
#define TW_T13 "a7"
#define TW_T20 "s2"
#define TW_T21 "s3"
#define TW_T22 "s4"
#define TW_T23 "s5"
#define TW_T30 "s6"
#define TW_T31 "s7"
#define TW_T32 "s8"
#define TW_T33 "s9"

/* One row of b (register b) with the words of four rows of a (a1 to a4). */
#define TW_A_DOT_COLUMN(DOT, f, b) \
  DOT(TW_T0##f, "a1", b) DOT(TW_T1##f, "a2", b) DOT(TW_T2##f, "a3", b) DOT(TW_T3##f, "a4", b)

/* The same for something else that is done with each of the four totals of a column. */
#define TW_A_COLUMN(DO, f) DO(TW_T0##f) DO(TW_T1##f) DO(TW_T2##f) DO(TW_T3##f)

#define TW_A_CLIP_RESULT(t) TW_A_CLIP_BYTE(t, "a5")
#define TW_A_CLIP_TOTAL(t) TW_A_R(TW_E_CLIP, t, t, "a3")
#define TW_A_MAC_ITSELF(t) TW_A_R(TW_E_MAC, t, t, "a1")
#define TW_A_ADDN(t) TW_A_R(TW_E_ADDN, t, "a2", "a4")

/* The words of four rows of a and b. The fourth row of b is left for the next turn, so that loads are an even number of
 * cycles apart: rows often begin in the same bank, and then cores that are an odd number of cycles apart do not meet there. */
#define TW_A_DOT_TURN(LEFT, DOT, STEP, BACK)                                                               \
  TW_A_LW_STEP("a5", "s1", STEP) LEFT(TW_T03, "a1") TW_A_LW_STEP("a1", "t6", "s10") LEFT(TW_T13, "a2")       \
  TW_A_LW_STEP("a2", "t6", "s10") LEFT(TW_T23, "a3") TW_A_LW_STEP("a3", "t6", "s10") LEFT(TW_T33, "a4")      \
  TW_A_LW_STEP("a4", "t6", "s11") DOT(TW_T00, "a1", "a5") DOT(TW_T10, "a2", "a5") DOT(TW_T20, "a3", "a5")    \
  TW_A_LW_STEP("t5", "s1", STEP) DOT(TW_T30, "a4", "a5") DOT(TW_T01, "a1", "t5") DOT(TW_T11, "a2", "t5")     \
  TW_A_LW_STEP("a5", "s1", STEP) DOT(TW_T21, "a3", "t5") DOT(TW_T31, "a4", "t5") DOT(TW_T02, "a1", "a5")     \
  TW_A_LW_STEP("t5", "s1", BACK) DOT(TW_T12, "a2", "a5") DOT(TW_T22, "a3", "a5") DOT(TW_T32, "a4", "a5")
#define TW_A_LEFT(t, a) TW_A_DOT(t, a, "t5")
#define TW_A_LEFT_SWAPPED(t, a) TW_A_DOT_SWAPPED(t, a, "t5")
#define TW_A_NOTHING_LEFT(t, a) "li " t ", 0\n"

#endif

#endif
