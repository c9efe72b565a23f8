/* Sums of products of 8-bit integers, the heart of matrix products and convolutions: four rows of a meet four rows of
 * b, all contiguous along the sum and equally far apart. 16 dot products for 8 loads: 24 instructions, 64 products.
 *
 * A block is one piece of assembly from the first total to the last result. It needs all registers but two, and
 * compilers that are given so many operands move them to and fro. */
#ifndef TW_DOTS_H
#define TW_DOTS_H

#include "columns.h"
#include "dots_row.h"
#include "xpulp.h"

/* Some blocks of four rows of a, one after the other. Offsets are known to the assembly below. */
typedef struct {
  const void *a;
  const void *b;
  tw_dots_rows rows; /* of a as of b */
  const tw_columns *columns;
  void *y;
  int32_t y_step;    /* bytes */
  int32_t next;      /* bytes from block to block of a */
  const void *a_end; /* where the block behind the last one would begin */
} tw_dots;

/* Rows of `length` bytes, at least four. */
static inline void tw_dots_length(tw_dots *d, int32_t length) {
  tw_dots_rows_length(&d->rows, length, length);
  d->next = 4 * length;
}

#if TW_XPULP

/* The assembly of a block is one string, longer than C99 asks compilers to take. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

/* Totals. What has to be loaded and stored outside the loop lies in s1 and a0 to a5, where instructions are short: a
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
#define TW_A_COPY_COLUMN(f) \
  "mv " TW_T1##f ", " TW_T0##f "\nmv " TW_T2##f ", " TW_T0##f "\nmv " TW_T3##f ", " TW_T0##f "\n"
#define TW_A_STORE_COLUMN(STORE, f, offset)                                                    \
  STORE " " TW_T0##f ", " offset "(t5)\n" STORE " " TW_T1##f ", " offset "(t6)\n" STORE " " TW_T2##f ", " offset \
        "(s10)\n" STORE " " TW_T3##f ", " offset "(s11)\n"

#define TW_A_CLIP_RESULT(t) TW_A_CLIP_BYTE(t, "a5")
#define TW_A_CLIP_TOTAL(t) TW_A_R(TW_E_CLIP, t, t, "a3")
#define TW_A_MUL(t) "mul " t ", " t ", a1\n"
#define TW_A_MULH(t) "mulh " t ", " t ", a1\n"
#define TW_A_ADDN(t) TW_A_R(TW_E_ADDN, t, "a2", "a4")

/* One column from totals to stored bytes. */
#define TW_A_FINISH_COLUMN(MULTIPLY, f, mul, add, offset)                                       \
  "lw a1, " mul "(s1)\nlw a2, " add "(s1)\n" MULTIPLY(f) TW_A_COLUMN(TW_A_ADDN, f) TW_A_COLUMN( \
      TW_A_CLIP_RESULT, f) TW_A_STORE_COLUMN("sb", f, offset)
#define TW_A_FINISH(MULTIPLY)                                                                      \
  TW_A_FINISH_COLUMN(MULTIPLY, 0, "16", "32", "0") TW_A_FINISH_COLUMN(MULTIPLY, 1, "20", "36", "1") \
  TW_A_FINISH_COLUMN(MULTIPLY, 2, "24", "40", "2") TW_A_FINISH_COLUMN(MULTIPLY, 3, "28", "44", "3")
#define TW_A_SMALL(f) TW_A_COLUMN(TW_A_MUL, f)
#define TW_A_CLIPPED(f) TW_A_COLUMN(TW_A_CLIP_TOTAL, f) TW_A_COLUMN(TW_A_MUL, f)
#define TW_A_HIGH(f) TW_A_COLUMN(TW_A_MULH, f)

/* The loop body loads the third and fourth row of b while the first two are at work. */
#define TW_A_DOT_BODY(DOT, MASK_B0, MASK_B1)                                                             \
  TW_A_LW_STEP("a1", "t6", "s10") TW_A_LW_STEP("a2", "t6", "s10") TW_A_LW_STEP("a3", "t6", "s10")        \
  TW_A_LW_STEP("a4", "t6", "s11") TW_A_LW_STEP("a5", "s1", "s10") TW_A_LW_STEP("t5", "s1", "s10") MASK_B0 \
  TW_A_DOT_COLUMN(DOT, 0, "a5") TW_A_LW_STEP("a5", "s1", "s10") MASK_B1                                  \
  TW_A_DOT_COLUMN(DOT, 1, "t5") TW_A_LW_STEP("t5", "s1", "s11") MASK_B0                                  \
  TW_A_DOT_COLUMN(DOT, 2, "a5") MASK_B1 TW_A_DOT_COLUMN(DOT, 3, "t5")

#define TW_DEFINE_DOTS(NAME, DOT)                                                                              \
  static inline void NAME(tw_dots *d, int is_signed, int dot_is_ss, int dot_is_uu) {                     \
    register tw_dots *at __asm__("a0") = d;                                                              \
    __asm__ volatile(                                                                                                 \
        "1:\n"                                                                                                        \
        "lw s1, 28(a0)\nlw t5, 16(a0)\nlw t6, 0(a0)\nlw s10, 8(a0)\nlw s11, 12(a0)\n"                                 \
        "lw " TW_T00 ", 0(s1)\nlw " TW_T01 ", 4(s1)\nlw " TW_T02 ", 8(s1)\nlw " TW_T03 ", 12(s1)\nlw s1, 4(a0)\n"                                     \
        TW_A_COPY_COLUMN(0) TW_A_COPY_COLUMN(1) TW_A_COPY_COLUMN(2) TW_A_COPY_COLUMN(3)                               \
        TW_A_BEGIN TW_A_LOOP("t5", 24) TW_A_DOT_BODY(DOT, "", "") TW_A_END                                            \
        "lw s11, 24(a0)\nlw t5, 32(a0)\nbnez s11, 5f\n"                                                               \
        "2:\n"                                                                                                        \
        "lw s11, 36(a0)\nlw s1, 28(a0)\nadd t6, t5, s11\nlw a3, 60(s1)\nadd s10, t6, s11\nadd s11, s10, s11\n"        \
        "lw a4, 52(s1)\nlw a5, 56(s1)\nbnez a3, 6f\n"                                                                 \
        TW_A_FINISH(TW_A_SMALL)                                                                                       \
        /* the next block, if there is one */                                                                         \
        "3:\n"                                                                                                        \
        "lw a1, 0(a0)\nlw a2, 40(a0)\nlw a3, 36(a0)\nlw a4, 44(a0)\nadd a1, a1, a2\nadd t5, s11, a3\n"                \
        "sw a1, 0(a0)\nsw t5, 32(a0)\nbne a1, a4, 1b\n"                                                               \
        "j 9f\n"                                                                                                      \
        /* the bytes that do not fill a word: the last word of each row, without what is already counted */           \
        "5:\n"                                                                                                        \
        "lw a1, 20(a0)\nsub t6, t6, a1\nsub s1, s1, a1\n"                                                             \
        TW_A_DOT_BODY(DOT, "and a5, a5, s11\n", "and t5, t5, s11\n")                                                  \
        "lw t5, 32(a0)\nj 2b\n"                                                                                       \
        /* the other modes */                                                                                         \
        "6:\n"                                                                                                        \
        "addi a3, a3, -1\nbnez a3, 7f\nlw a3, 48(s1)\n" TW_A_FINISH(TW_A_CLIPPED) "j 3b\n"                            \
        "7:\n"                                                                                                        \
        "addi a3, a3, -1\nbnez a3, 8f\n" TW_A_FINISH(TW_A_HIGH) "j 3b\n"                                              \
        "8:\n" TW_A_STORE_COLUMN("sw", 0, "0") TW_A_STORE_COLUMN("sw", 1, "4")                                        \
        TW_A_STORE_COLUMN("sw", 2, "8") TW_A_STORE_COLUMN("sw", 3, "12")                                              \
        "j 3b\n"                                                                                                      \
        "9:\n"                                                                                                        \
        : "+r"(at)                                                                                             \
        : [dot] "i"(dot_is_ss ? TW_I_DOT_SS : dot_is_uu ? TW_I_DOT_UU : TW_I_DOT_US),                          \
          [clip] "i"(is_signed ? TW_I_CLIP : TW_I_CLIPU)                                                       \
        : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2", "a3", "a4", "a5", "a6", "a7",  \
          "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11");                                 \
  }

TW_DEFINE_DOTS(tw_dots_in_order, TW_A_DOT)
TW_DEFINE_DOTS(tw_dots_swapped, TW_A_DOT_SWAPPED)

#endif

/* Blocks of 4 x 4 results from a to a_end; the columns' mode is not TW_EXACT. Results are bytes, or int32 in mode
 * TW_PLAIN. Changes a and y. */
static __attribute__((noinline)) void tw_dots_blocks(tw_dots *d, int a_signed, int b_signed, int y_signed) {
#if TW_XPULP
  if (a_signed && !b_signed) {
    tw_dots_swapped(d, y_signed, 0, 0);
  } else {
    tw_dots_in_order(d, y_signed, a_signed && b_signed, !a_signed && !b_signed);
  }
#else
  for (; d->a != d->a_end; d->a = (const uint8_t *)d->a + d->next) {
    for (int32_t row = 0; row < 4; row++, d->y = (uint8_t *)d->y + d->y_step) {
      int32_t total[4] = {d->columns->init[0], d->columns->init[1], d->columns->init[2], d->columns->init[3]};
      tw_dots_row(&d->rows, (const uint8_t *)d->a + row * d->rows.step, d->b, total, a_signed, b_signed);
      for (int f = 0; f < 4; f++) {
        const int32_t value = tw_columns_finish(d->columns, total[f], f, y_signed);
        if (d->columns->mode == TW_PLAIN) {
          tw_x_store((uint8_t *)d->y + 4 * f, (uint32_t)value);
        } else {
          ((uint8_t *)d->y)[f] = (uint8_t)value;
        }
      }
    }
  }
#endif
}

#endif
