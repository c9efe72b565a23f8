/* Four rows of floats meet four others: to[r][f] = from[r][f] + sum of a[r][i] * b[f][i].
 *
 * Two cores share a floating-point unit. Loads for the next products stand between the products, one by one, so that the
 * unit always has something to do for one core while the other one loads. */
#ifndef TW_BLOCKS_F32_H
#define TW_BLOCKS_F32_H

#include "xpulp.h"

/* Where totals begin from, and where they go: rows of four neighbours, so many floats from one row to the next. */
typedef struct {
  const float *from;
  int32_t from_step;
  float *to;
  int32_t to_step;
} tw_block_ends;

#if TW_XPULP

#pragma GCC diagnostic ignored "-Woverlength-strings"

#define TW_A_FMA(t, x, y) "fmadd.s f" #t ", f" #x ", f" #y ", f" #t "\n"
/* An element of a row into register f`x`; on to the next. */
#define TW_A_FETCH(x, row) "flw f" #x ", 0(%" #row ")\n"
#define TW_A_ADVANCE_A(row) "add %" #row ", %" #row ", %[a_step]\n"
#define TW_A_ADVANCE_B(row) "add %" #row ", %" #row ", %[b_step]\n"
#define TW_A_FETCH_ALL(a0, a1, a2, a3, b0, b1, b2, b3)                                                          \
  TW_A_FETCH(a0, 0) TW_A_FETCH(b0, 4) TW_A_FETCH(b1, 5) TW_A_FETCH(b2, 6) TW_A_FETCH(b3, 7)      \
  TW_A_FETCH(a1, 1) TW_A_FETCH(a2, 2) TW_A_FETCH(a3, 3) TW_A_ADVANCE_A(0) TW_A_ADVANCE_A(1)          \
  TW_A_ADVANCE_A(2) TW_A_ADVANCE_A(3) TW_A_ADVANCE_B(4) TW_A_ADVANCE_B(5) TW_A_ADVANCE_B(6) TW_A_ADVANCE_B(7)
/* 16 products of what is there, with loads of what comes next in between: 32 instructions. */
#define TW_A_PRODUCTS_AND_FETCH(a0, a1, a2, a3, b0, b1, b2, b3, n0, n1, n2, n3, m0, m1, m2, m3)                 \
  TW_A_FMA(0, a0, b0) TW_A_FETCH(n0, 0) TW_A_FMA(1, a0, b1) TW_A_ADVANCE_A(0)                               \
  TW_A_FMA(2, a0, b2) TW_A_FETCH(m0, 4) TW_A_FMA(3, a0, b3) TW_A_ADVANCE_B(4)                               \
  TW_A_FMA(4, a1, b0) TW_A_FETCH(m1, 5) TW_A_FMA(5, a1, b1) TW_A_ADVANCE_B(5)                               \
  TW_A_FMA(6, a1, b2) TW_A_FETCH(m2, 6) TW_A_FMA(7, a1, b3) TW_A_ADVANCE_B(6)                               \
  TW_A_FMA(8, a2, b0) TW_A_FETCH(m3, 7) TW_A_FMA(9, a2, b1) TW_A_ADVANCE_B(7)                               \
  TW_A_FMA(10, a2, b2) TW_A_FETCH(n1, 1) TW_A_FMA(11, a2, b3) TW_A_ADVANCE_A(1)                             \
  TW_A_FMA(12, a3, b0) TW_A_FETCH(n2, 2) TW_A_FMA(13, a3, b1) TW_A_ADVANCE_A(2)                             \
  TW_A_FMA(14, a3, b2) TW_A_FETCH(n3, 3) TW_A_FMA(15, a3, b3) TW_A_ADVANCE_A(3)
#define TW_F_EVEN 16, 17, 18, 19, 20, 21, 22, 23
#define TW_F_ODD 24, 25, 26, 27, 28, 29, 30, 31
#define TW_A_EXPANDED(MACRO, ...) MACRO(__VA_ARGS__)
#define TW_A_ROW(WHAT, t0, t1, t2, t3, row)                                                                      \
  WHAT " f" #t0 ", 0(%[" #row "])\n" WHAT " f" #t1 ", 4(%[" #row "])\n"                                          \
  WHAT " f" #t2 ", 8(%[" #row "])\n" WHAT " f" #t3 ", 12(%[" #row "])\n"
#define TW_A_NEXT_ROW(row) "add %[" #row "], %[" #row "], %[" #row "_step]\n"
#define TW_A_ROWS(WHAT, row)                                                                                     \
  TW_A_ROW(WHAT, 0, 1, 2, 3, row) TW_A_NEXT_ROW(row) TW_A_ROW(WHAT, 4, 5, 6, 7, row) TW_A_NEXT_ROW(row)          \
  TW_A_ROW(WHAT, 8, 9, 10, 11, row) TW_A_NEXT_ROW(row) TW_A_ROW(WHAT, 12, 13, 14, 15, row)

#define TW_A_STORE(t, at) "fsw f" #t ", " #at "(%[to])\n"
/* The last 16 products; totals of a row are stored while the next row's are made. */
#define TW_A_PRODUCTS_AND_STORE(a0, a1, a2, a3, b0, b1, b2, b3)                                                  \
  TW_A_FMA(0, a0, b0) TW_A_FMA(1, a0, b1) TW_A_FMA(2, a0, b2) TW_A_FMA(3, a0, b3)                                \
  TW_A_STORE(0, 0) TW_A_FMA(4, a1, b0) TW_A_STORE(1, 4) TW_A_FMA(5, a1, b1) TW_A_STORE(2, 8)                     \
  TW_A_FMA(6, a1, b2) TW_A_STORE(3, 12) TW_A_FMA(7, a1, b3) TW_A_NEXT_ROW(to) TW_A_FMA(8, a2, b0)                \
  TW_A_STORE(4, 0) TW_A_FMA(9, a2, b1) TW_A_STORE(5, 4) TW_A_FMA(10, a2, b2) TW_A_STORE(6, 8)                    \
  TW_A_FMA(11, a2, b3) TW_A_STORE(7, 12) TW_A_FMA(12, a3, b0) TW_A_NEXT_ROW(to) TW_A_FMA(13, a3, b1)             \
  TW_A_STORE(8, 0) TW_A_FMA(14, a3, b2) TW_A_STORE(9, 4) TW_A_FMA(15, a3, b3) TW_A_STORE(10, 8)                  \
  TW_A_STORE(11, 12) TW_A_NEXT_ROW(to) TW_A_ROW("fsw", 12, 13, 14, 15, to)

/* Elements of a row are a_step apart, those of b b_step; `count` is at least 1. In the function that calls it, so that
 * registers are saved once for all blocks. */
static inline __attribute__((always_inline)) void tw_block_f32(const float *const a[4], int32_t a_step,
                                                               const float *const b[4], int32_t b_step, int32_t count,
                                                               tw_block_ends ends) {
  const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  /* Pairs of elements with others behind them; one or two are left. */
  const int32_t pairs = (count - 1) >> 1;
  int32_t left = count - 2 * pairs;
  __asm__ volatile(
      TW_A_ROWS("flw", from) TW_A_EXPANDED(TW_A_FETCH_ALL, TW_F_EVEN)
      "beqz %[pairs], 1f\n"
      TW_A_BEGIN TW_A_LOOP("%[pairs]", 64)
      TW_A_EXPANDED(TW_A_PRODUCTS_AND_FETCH, TW_F_EVEN, TW_F_ODD)
      TW_A_EXPANDED(TW_A_PRODUCTS_AND_FETCH, TW_F_ODD, TW_F_EVEN) TW_A_END
      "1:\naddi %8, %8, -1\nbeqz %8, 2f\n"
      TW_A_EXPANDED(TW_A_PRODUCTS_AND_FETCH, TW_F_EVEN, TW_F_ODD) TW_A_EXPANDED(TW_A_PRODUCTS_AND_STORE, TW_F_ODD)
      "j 3f\n2:\n" TW_A_EXPANDED(TW_A_PRODUCTS_AND_STORE, TW_F_EVEN) "3:\n"
      : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(b0), "+r"(b1), "+r"(b2), "+r"(b3), "+r"(left),
        [from] "+r"(ends.from), [to] "+r"(ends.to)
      : [a_step] "r"(4 * a_step), [b_step] "r"(4 * b_step), [pairs] "r"(pairs), [from_step] "r"(4 * ends.from_step),
        [to_step] "r"(4 * ends.to_step)
      : "memory", "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15",
        "f16", "f17", "f18", "f19", "f20", "f21", "f22", "f23", "f24", "f25", "f26", "f27", "f28", "f29", "f30", "f31");
}

#else

static inline void tw_block_f32(const float *const a[4], int32_t a_step, const float *const b[4], int32_t b_step,
                                int32_t count, tw_block_ends ends) {
  for (int r = 0; r < 4; r++) {
    for (int f = 0; f < 4; f++) {
      float total = ends.from[r * ends.from_step + f];
      for (int32_t i = 0; i < count; i++) total += a[r][i * a_step] * b[f][i * b_step];
      ends.to[r * ends.to_step + f] = total;
    }
  }
}

#endif

/* Totals in memory of their own, which begin from what is there. */
static inline tw_block_ends tw_in_place(float total[16]) {
  const tw_block_ends ends = {total, 4, total, 4};
  return ends;
}

#endif
