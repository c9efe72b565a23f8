/* Sums of products of 8-bit integers, the heart of matrix products and convolutions: four rows of a meet four rows of
 * b, all contiguous along the sum and equally far apart. 16 dot products for 8 loads: 24 instructions, 64 products.
 *
 * A block is one piece of assembly from the first total to the last result. It needs all registers but two, and
 * compilers that are given so many operands move them to and fro. */
#ifndef TW_DOTS_H
#define TW_DOTS_H

#include "columns.h"
#include "dots_row.h"
#include "dots_turn.h"

/* Some blocks of four rows of a, one after the other. Rows of a may come in several runs of words, equally far apart,
 * while those of b are contiguous. Offsets are known to the assembly below. */
typedef struct {
  const void *a;
  const void *b;
  tw_dots_rows rows; /* of a as of b; in several runs of a only, and of one run */
  const tw_columns *columns;
  void *y;
  int32_t y_step;    /* bytes */
  int32_t advance;   /* bytes from behind the first row of a block to the next block of a */
  const void *a_end; /* where the block behind the last one would begin */
  int32_t more;      /* words of a run behind the first one */
  int32_t runs;
  int32_t jump;      /* bytes from behind a run to the next */
  int32_t b_step;    /* as in rows, of b */
  int32_t b_back;
  int32_t kept[2];   /* registers that C code does not expect to change */
  int32_t quads;     /* of columns that meet the same rows of a, one quad after the other */
  int32_t b_next;    /* bytes from quad to quad of b */
  int32_t columns_next;
  int32_t y_next;
  void *y_begin;     /* if there are several: y of this one */
} tw_dots;

/* Rows of `length` bytes, at least four. */
static inline void tw_dots_length(tw_dots *d, int32_t length) {
  d->quads = 1;
  tw_dots_rows_length(&d->rows, length, length);
  d->advance = 3 * length;
  d->more = d->rows.words - 1;
}

/* Runs of `run` bytes, whole words and at least two, `pitch` apart; rows of a are `step` bytes apart. */
static inline void tw_dots_in_runs(tw_dots *d, int32_t runs, int32_t run, int32_t step, int32_t pitch) {
  d->quads = 1;
  tw_dots_rows_length(&d->rows, run, step);
  d->more = d->rows.words - 1;
  d->runs = runs;
  d->jump = pitch - run;
  d->advance = 4 * step - runs * pitch;
  d->b_step = runs * run;
  d->b_back = 4 - 3 * d->b_step;
}

#if TW_XPULP

#define TW_A_ADD_INIT(t) "add " t ", " t ", a1\n"
#define TW_A_INIT                                                                                          \
  "lw a1, 0(s0)\n" TW_A_COLUMN(TW_A_ADD_INIT, 0) "lw a1, 4(s0)\n" TW_A_COLUMN(TW_A_ADD_INIT, 1)            \
  "lw a1, 8(s0)\n" TW_A_COLUMN(TW_A_ADD_INIT, 2) "lw a1, 12(s0)\n" TW_A_COLUMN(TW_A_ADD_INIT, 3)

#define TW_A_MULH(t) "mulh " t ", " t ", a1\n"

/* One column from totals to bytes. */
#define TW_A_FINISH_COLUMN(MULTIPLY, f, mul, add) \
  "lw a1, " mul "(s0)\nlw a2, " add "(s0)\n" MULTIPLY(f) TW_A_COLUMN(TW_A_ADDN, f) TW_A_COLUMN(TW_A_CLIP_RESULT, f)
#define TW_A_FINISH(MULTIPLY, mul0, mul1, mul2, mul3)                                 \
  TW_A_FINISH_COLUMN(MULTIPLY, 0, mul0, "32") TW_A_FINISH_COLUMN(MULTIPLY, 1, mul1, "36") \
  TW_A_FINISH_COLUMN(MULTIPLY, 2, mul2, "40") TW_A_FINISH_COLUMN(MULTIPLY, 3, mul3, "44")
#define TW_A_FINISH_NARROW(MULTIPLY) TW_A_FINISH(MULTIPLY, "64", "68", "72", "76")
#define TW_A_SMALL(f) TW_A_COLUMN(TW_A_MAC_ITSELF, f)
#define TW_A_CLIPPED(f) TW_A_COLUMN(TW_A_CLIP_TOTAL, f) TW_A_COLUMN(TW_A_MAC_ITSELF, f)
#define TW_A_HIGH(f) TW_A_COLUMN(TW_A_MULH, f)

/* A row of results to a2, which then is at the next row: a1 bytes on. */
#define TW_A_STORE_BYTES(r)                                                                             \
  TW_A_R(TW_E_PACKLO4, TW_T##r##0, TW_T##r##1, TW_T##r##0) TW_A_R(TW_E_PACKHI4, TW_T##r##0, TW_T##r##3, TW_T##r##2) \
  TW_A_SW_STEP(TW_T##r##0, "a2", "a1")
#define TW_A_STORE_TOTALS(r)                                                                      \
  "sw " TW_T##r##1 ", 4(a2)\nsw " TW_T##r##2 ", 8(a2)\nsw " TW_T##r##3 ", 12(a2)\n"               \
  TW_A_SW_STEP(TW_T##r##0, "a2", "a1")
#define TW_A_STORE(ROW) "lw a2, 32(a0)\nlw a1, 36(a0)\n" ROW(0) ROW(1) ROW(2) ROW(3) "sw a2, 32(a0)\n"

/* The words of four rows of a and b, all loaded before they are needed. */
#define TW_A_DOT_REST(DOT, MASK_B0, MASK_B1)                                                             \
  TW_A_LW_STEP("a1", "t6", "s10") TW_A_LW_STEP("a2", "t6", "s10") TW_A_LW_STEP("a3", "t6", "s10")        \
  TW_A_LW_STEP("a4", "t6", "s11") TW_A_LW_STEP("a5", "s1", "s10") TW_A_LW_STEP("t5", "s1", "s10") MASK_B0 \
  TW_A_DOT_COLUMN(DOT, 0, "a5") TW_A_LW_STEP("a5", "s1", "s10") MASK_B1                                  \
  TW_A_DOT_COLUMN(DOT, 1, "t5") TW_A_LW_STEP("t5", "s1", "s11") MASK_B0                                  \
  TW_A_DOT_COLUMN(DOT, 2, "a5") MASK_B1 TW_A_DOT_COLUMN(DOT, 3, "t5")

/* All turns of a block: of one run, or of several. */
#define TW_A_ONE_RUN(FIRST, DOT, LEFT)                                                                              \
  TW_A_DOT_TURN(TW_A_NOTHING_LEFT, FIRST, "s10", "s11") "lw a5, 48(a0)\nbeqz a5, 0f\n" TW_A_BEGIN                   \
  TW_A_LOOP("a5", 24) TW_A_DOT_TURN(LEFT, DOT, "s10", "s11") TW_A_END "0:\n" TW_A_DOT_COLUMN(DOT, 3, "t5")          \
  "lw t5, 24(a0)\nlw a3, 60(s0)\nbnez t5, 5f\n"
#define TW_A_RUNS(FIRST, DOT, LEFT)                                                                                 \
  "lw s0, 60(a0)\n" TW_A_DOT_TURN(TW_A_NOTHING_LEFT, FIRST, "s0", "tp") "lw a5, 52(a0)\nlw gp, 48(a0)\n" TW_A_BEGIN \
  TW_A_OUTER_LOOP("a5", 28) TW_A_LOOP("gp", 24) TW_A_DOT_TURN(LEFT, DOT, "s0", "tp")                                \
  "lw a5, 56(a0)\nlw gp, 16(a0)\nadd t6, t6, a5\n" TW_A_END "lw s0, 28(a0)\n" TW_A_DOT_COLUMN(DOT, 3, "t5")          \
  "lw a3, 60(s0)\n"
#define TW_A_KEEP "sw gp, 68(a0)\nsw tp, 72(a0)\nlw tp, 64(a0)\n"
#define TW_A_GIVE_BACK "lw gp, 68(a0)\nlw tp, 72(a0)\n"

#define TW_DEFINE_DOTS(NAME, TURNS, DOT, KEEP, GIVE_BACK)                                                                              \
  static inline void NAME(tw_dots *d, int is_signed, int dot_is_ss, int dot_is_uu) {                     \
    register tw_dots *at __asm__("a0") = d;                                                              \
    __asm__ volatile(                                                                                                 \
        KEEP "lw t6, 0(a0)\nlw s10, 8(a0)\nlw s11, 12(a0)\nlw s0, 28(a0)\n"                                           \
        ".balign 16\n1:\n"                                                                                            \
        "lw s1, 4(a0)\n" TURNS                                                                                        \
        "2:\n"                                                                                                        \
        "lw a4, 52(s0)\nlw a5, 56(s0)\nbnez a3, 6f\n"                                                                 \
        TW_A_FINISH_NARROW(TW_A_SMALL)                                                                                \
        "3:\n" TW_A_STORE(TW_A_STORE_BYTES)                                                                           \
        /* the next block, if there is one */                                                                         \
        "4:\n"                                                                                                        \
        "lw a1, 40(a0)\nlw a2, 44(a0)\nadd t6, t6, a1\nbne t6, a2, 1b\n"                                              \
        /* the next quad of columns, if there is one */                                                               \
        "lw a1, 76(a0)\naddi a1, a1, -1\nbeqz a1, 9f\nsw a1, 76(a0)\n"                                                \
        "lw a1, 4(a0)\nlw a2, 80(a0)\nlw a3, 84(a0)\nlw a4, 92(a0)\nlw a5, 88(a0)\nadd a1, a1, a2\nadd s0, s0, a3\n"  \
        "add a4, a4, a5\nsw a1, 4(a0)\nsw s0, 28(a0)\nsw a4, 92(a0)\nsw a4, 32(a0)\nlw t6, 0(a0)\nj 1b\n"              \
        /* the bytes that do not fill a word: the last word of each row, without what is already counted */           \
        "5:\n"                                                                                                        \
        "lw a1, 20(a0)\nmv s0, t5\nsub t6, t6, a1\nsub s1, s1, a1\n"                                                  \
        TW_A_DOT_REST(DOT, "and a5, a5, s0\n", "and t5, t5, s0\n")                                                    \
        "lw s0, 28(a0)\nlw a3, 60(s0)\nj 2b\n"                                                                        \
        /* the other modes */                                                                                         \
        "6:\n" TW_A_INIT                                                                                              \
        "addi a3, a3, -1\nbnez a3, 7f\nlw a3, 48(s0)\n" TW_A_FINISH_NARROW(TW_A_CLIPPED) "j 3b\n"                            \
        "7:\n"                                                                                                        \
        "addi a3, a3, -1\nbnez a3, 8f\n" TW_A_FINISH(TW_A_HIGH, "16", "20", "24", "28") "j 3b\n"                                              \
        "8:\n" TW_A_STORE(TW_A_STORE_TOTALS)                                                                          \
        "j 4b\n"                                                                                                      \
        "9:\n" GIVE_BACK                                                                                              \
        : "+r"(at)                                                                                             \
        : [dot] "i"(dot_is_ss ? TW_I_DOT_SS : dot_is_uu ? TW_I_DOT_UU : TW_I_DOT_US),                          \
          [first] "i"(dot_is_ss ? TW_I_FIRST_SS : dot_is_uu ? TW_I_FIRST_UU : TW_I_FIRST_US),                  \
          [clip] "i"(is_signed ? TW_I_CLIP : TW_I_CLIPU)                                                       \
        : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2", "a3", "a4", "a5", "a6", "a7",  \
          "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11");                           \
  }

TW_DEFINE_DOTS(tw_dots_in_order, TW_A_ONE_RUN(TW_A_DOT_FIRST, TW_A_DOT, TW_A_LEFT), TW_A_DOT, "", "")
TW_DEFINE_DOTS(tw_dots_swapped, TW_A_ONE_RUN(TW_A_DOT_FIRST_SWAPPED, TW_A_DOT_SWAPPED, TW_A_LEFT_SWAPPED),
               TW_A_DOT_SWAPPED, "", "")
TW_DEFINE_DOTS(tw_runs_in_order, TW_A_RUNS(TW_A_DOT_FIRST, TW_A_DOT, TW_A_LEFT), TW_A_DOT, TW_A_KEEP, TW_A_GIVE_BACK)
TW_DEFINE_DOTS(tw_runs_swapped, TW_A_RUNS(TW_A_DOT_FIRST_SWAPPED, TW_A_DOT_SWAPPED, TW_A_LEFT_SWAPPED),
               TW_A_DOT_SWAPPED, TW_A_KEEP, TW_A_GIVE_BACK)

#endif

#if !TW_XPULP

/* One row of a, in all its runs, with four rows of b. */
static inline void tw_dots_runs_row(const tw_dots *d, const uint8_t *a, int32_t *total, int a_signed, int b_signed) {
  const uint8_t *b = d->b;
  for (int32_t run = 0; run < d->runs; run++, a += 4 * d->rows.words + d->jump, b += 4 * d->rows.words) {
    for (int32_t i = 0; i < 4 * d->rows.words; i += 4) {
      for (int f = 0; f < 4; f++) {
        total[f] = tw_dot(total[f], tw_x_load(a + i), tw_x_load(b + f * d->b_step + i), a_signed, b_signed);
      }
    }
  }
}

static inline void tw_dots_quad(const tw_dots *d, int in_runs, int a_signed, int b_signed, int y_signed) {
  uint8_t *y = d->y;
  for (const uint8_t *block = d->a; block != d->a_end; block += 4 * d->rows.step) {
    for (int32_t row = 0; row < 4; row++, y += d->y_step) {
      const uint8_t *const a = block + row * d->rows.step;
      int32_t total[4] = {d->columns->init[0], d->columns->init[1], d->columns->init[2], d->columns->init[3]};
      if (in_runs) {
        tw_dots_runs_row(d, a, total, a_signed, b_signed);
      } else {
        tw_dots_row(&d->rows, a, d->b, total, a_signed, b_signed);
      }
      for (int f = 0; f < 4; f++) {
        const int32_t value = tw_columns_finish(d->columns, total[f], f, y_signed);
        if (d->columns->mode == TW_PLAIN) {
          tw_x_store(y + 4 * f, (uint32_t)value);
        } else {
          y[f] = (uint8_t)value;
        }
      }
    }
  }
}

static inline void tw_dots_one_by_one(tw_dots *d, int in_runs, int a_signed, int b_signed, int y_signed) {
  for (;; d->quads--) {
    tw_dots_quad(d, in_runs, a_signed, b_signed, y_signed);
    if (d->quads == 1) return;
    d->b = (const uint8_t *)d->b + d->b_next;
    d->columns = (const tw_columns *)(const void *)((const uint8_t *)d->columns + d->columns_next);
    d->y = d->y_begin = (uint8_t *)d->y_begin + d->y_next;
  }
}

#endif

/* Blocks of 4 x 4 results from a to a_end; the columns' mode is not TW_EXACT. Results are bytes, or int32 in mode
 * TW_PLAIN. Changes y, and where there are several quads of columns these, too. */
static __attribute__((noinline)) void tw_dots_blocks(tw_dots *d, int a_signed, int b_signed, int y_signed) {
#if TW_XPULP
  if (a_signed && !b_signed) {
    tw_dots_swapped(d, y_signed, 0, 0);
  } else {
    tw_dots_in_order(d, y_signed, a_signed && b_signed, !a_signed && !b_signed);
  }
#else
  tw_dots_one_by_one(d, 0, a_signed, b_signed, y_signed);
#endif
}

/* The same where rows of a come in several runs. */
static inline __attribute__((always_inline)) void tw_dots_blocks_in_runs(tw_dots *d, int a_signed, int b_signed,
                                                                         int y_signed) {
#if TW_XPULP
  if (a_signed && !b_signed) {
    tw_runs_swapped(d, y_signed, 0, 0);
  } else {
    tw_runs_in_order(d, y_signed, a_signed && b_signed, !a_signed && !b_signed);
  }
#else
  tw_dots_one_by_one(d, 1, a_signed, b_signed, y_signed);
#endif
}

#endif
