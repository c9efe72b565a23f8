/* Blocks of 4 x 4 sums of products of bytes as in dots.h, of rows of whole words, which all become results by one factor and
 * one summand: what a block needs besides is loaded once, and nothing is stored but results. */
#ifndef TW_DOTS_ALIKE_H
#define TW_DOTS_ALIKE_H

#include "dots_turn.h"

/* Some strips of four columns, one after the other; offsets are known to the assembly below. */
typedef struct {
  const void *a, *a_end; /* rows, in blocks of four: the first, and the one behind the last */
  const void *b;         /* of the strip */
  int32_t step, back, more; /* bytes of a row; from the last of four rows to the first one's next word; words less one */
  int32_t advance;       /* from behind the first row of a block to the next block */
  void *y;               /* of the strip */
  int32_t y_row;
  int32_t less, add, shift, high; /* as in tw_columns */
  int32_t bound;         /* 0 where totals are not clipped */
  int32_t strips;        /* that are left */
} tw_alike;

#if TW_XPULP
#define TW_A_EACH_COLUMN(DO) TW_A_COLUMN(DO, 0) TW_A_COLUMN(DO, 1) TW_A_COLUMN(DO, 2) TW_A_COLUMN(DO, 3)
#define TW_A_STORE_ALIKE(r)                                                                                              \
  TW_A_R(TW_E_PACKLO4, TW_T##r##0, TW_T##r##1, TW_T##r##0) TW_A_R(TW_E_PACKHI4, TW_T##r##0, TW_T##r##3, TW_T##r##2)      \
  TW_A_SW_STEP(TW_T##r##0, "s0", "a1")
#define TW_DEFINE_ALIKE(NAME, FIRST, DOT, LEFT)                                                                          \
  static inline void NAME(tw_alike *d, int is_signed, int dot_is_ss, int dot_is_uu) {                                    \
    register tw_alike *at __asm__("a0") = d;                                                                             \
    __asm__ volatile(                                                                                                    \
        "lw s10, 12(a0)\nlw s11, 16(a0)\n"                                                                               \
        "0:\nlw t6, 0(a0)\nlw s0, 28(a0)\n"                                                                              \
        ".balign 16\n1:\n"                                                                                               \
        "lw s1, 8(a0)\n" TW_A_DOT_TURN(TW_A_NOTHING_LEFT, FIRST, "s10", "s11") "lw a5, 20(a0)\nbeqz a5, 2f\n"              \
        TW_A_BEGIN TW_A_LOOP("a5", 24) TW_A_DOT_TURN(LEFT, DOT, "s10", "s11") TW_A_END                                   \
        "2:\n" TW_A_DOT_COLUMN(DOT, 3, "t5")                                                                             \
        "lw a3, 52(a0)\nlw a1, 36(a0)\nlw a2, 40(a0)\nlw a4, 44(a0)\nlw a5, 48(a0)\nbnez a3, 5f\n"                         \
        "3:\n" TW_A_EACH_COLUMN(TW_A_MAC_ITSELF) TW_A_EACH_COLUMN(TW_A_ADDN)                                              \
        "lw a1, 32(a0)\nlw a2, 24(a0)\nlw a3, 4(a0)\n" TW_A_EACH_COLUMN(TW_A_CLIP_RESULT)                                  \
        TW_A_STORE_ALIKE(0) TW_A_STORE_ALIKE(1) TW_A_STORE_ALIKE(2) TW_A_STORE_ALIKE(3)                                  \
        "add t6, t6, a2\nbne t6, a3, 1b\n"                                                                               \
        /* the next strip, if there is one */                                                                            \
        "lw a1, 56(a0)\nlw a2, 8(a0)\nlw a3, 28(a0)\nslli a4, s10, 2\naddi a1, a1, -1\nadd a2, a2, a4\naddi a3, a3, 4\n"   \
        "sw a1, 56(a0)\nsw a2, 8(a0)\nsw a3, 28(a0)\nbnez a1, 0b\nj 6f\n"                                                 \
        "5:\n" TW_A_EACH_COLUMN(TW_A_CLIP_TOTAL) "j 3b\n"                                                                 \
        "6:\n"                                                                                                           \
        : "+r"(at)                                                                                                       \
        : [dot] "i"(dot_is_ss ? TW_I_DOT_SS : dot_is_uu ? TW_I_DOT_UU : TW_I_DOT_US),                                    \
          [first] "i"(dot_is_ss ? TW_I_FIRST_SS : dot_is_uu ? TW_I_FIRST_UU : TW_I_FIRST_US),                            \
          [clip] "i"(is_signed ? TW_I_CLIP : TW_I_CLIPU)                                                                 \
        : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s0", "s1", \
          "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11");                                                 \
  }

TW_DEFINE_ALIKE(tw_alike_in_order, TW_A_DOT_FIRST, TW_A_DOT, TW_A_LEFT)
TW_DEFINE_ALIKE(tw_alike_swapped, TW_A_DOT_FIRST_SWAPPED, TW_A_DOT_SWAPPED, TW_A_LEFT_SWAPPED)
#else
static inline void tw_alike_one_by_one(tw_alike *d, int a_signed, int b_signed, int y_signed) {
  for (; d->strips > 0; d->strips--, d->b = (const uint8_t *)d->b + 4 * d->step, d->y = (uint8_t *)d->y + 4) {
    uint8_t *y = d->y;
    for (const uint8_t *a = d->a; a != d->a_end; a += d->step, y += d->y_row) {
      for (int32_t f = 0; f < 4; f++) {
        const uint8_t *const b = (const uint8_t *)d->b + f * d->step;
        int32_t total = 0;
        for (int32_t i = 0; i < d->step; i += 4) total = tw_dot(total, tw_x_load(a + i), tw_x_load(b + i), a_signed, b_signed);
        if (d->bound) total = tw_x_clip(total, d->bound);
        const int32_t value = tw_x_addn(tw_x_mac(total, total, d->less), (uint32_t)d->add, (uint32_t)d->shift);
        y[f] = (uint8_t)(y_signed ? tw_x_clip(value, d->high) : tw_x_clipu(value, d->high));
      }
    }
  }
}
#endif

/* All strips; at least one, of at least one block. */
static __attribute__((noinline)) void tw_alike_strips(tw_alike *d, int a_signed, int b_signed, int y_signed) {
#if TW_XPULP
  if (a_signed && !b_signed) {
    tw_alike_swapped(d, y_signed, 0, 0);
  } else {
    tw_alike_in_order(d, y_signed, a_signed && b_signed, !a_signed && !b_signed);
  }
#else
  tw_alike_one_by_one(d, a_signed, b_signed, y_signed);
#endif
}

#endif
