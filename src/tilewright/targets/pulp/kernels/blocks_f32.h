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

/* Runs of elements of four rows that are neighbours: the first one, how far the next ones are, and the next run. */
typedef struct {
  const float *first;
  int32_t step, turn;
} tw_run;

#if TW_XPULP

#pragma GCC diagnostic ignored "-Woverlength-strings"

/* Elements of four rows are loaded in one of three ways. In pairs of elements, the first one of a pair (1) and the second
 * one (2); a row's pointer is on the element that was loaded before.
 *   ROWS: neighbours in each row, a pointer for each row, which goes on once for two elements;
 *   COLUMNS: the four rows are neighbours, so that one pointer is enough, and the next elements are a step away;
 *   STEPS: anything, a pointer for each row and a step. */
#define TW_A_LOAD(x, at, row) "flw f" #x ", " #at "(%[" #row "])\n"
#define TW_A_ON(row, step) "add %[" #row "], %[" #row "], %[" #step "]\n"
#define TW_A_ON_TWO(row) "addi %[" #row "], %[" #row "], 8\n"

#define TW_A_LOAD_ROWS_0(x, i, row) TW_A_LOAD(x, 0, row##i)
#define TW_A_LOAD_ROWS_1(x, i, row) TW_A_LOAD(x, 4, row##i)
#define TW_A_LOAD_ROWS_2(x, i, row) TW_A_LOAD(x, 8, row##i)
#define TW_A_NEXT_ROWS_0(i, row)
#define TW_A_NEXT_ROWS_1(i, row)
#define TW_A_NEXT_ROWS_2(i, row) TW_A_ON_TWO(row##i)

#define TW_A_LOAD_COLUMNS_0(x, i, row) TW_A_LOAD(x, 4 * i, row##0)
#define TW_A_LOAD_COLUMNS_1(x, i, row) TW_A_LOAD(x, 4 * i, row##0)
#define TW_A_LOAD_COLUMNS_2(x, i, row) TW_A_LOAD(x, 4 * i, row##0)
#define TW_A_NEXT_COLUMNS_0(i, row) TW_A_NEXT_COLUMN_##i(row)
#define TW_A_NEXT_COLUMNS_1(i, row) TW_A_NEXT_COLUMN_##i(row)
#define TW_A_NEXT_COLUMNS_2(i, row) TW_A_NEXT_COLUMN_##i(row)
#define TW_A_NEXT_COLUMN_0(row)
#define TW_A_NEXT_COLUMN_1(row)
#define TW_A_NEXT_COLUMN_2(row)
#define TW_A_NEXT_COLUMN_3(row) TW_A_ON(row##0, row##_step)

#define TW_A_LOAD_STEPS_0(x, i, row) TW_A_LOAD(x, 0, row##i)
#define TW_A_LOAD_STEPS_1(x, i, row) TW_A_LOAD(x, 0, row##i)
#define TW_A_LOAD_STEPS_2(x, i, row) TW_A_LOAD(x, 0, row##i)
#define TW_A_NEXT_STEPS_0(i, row) TW_A_ON(row##i, row##_step)
#define TW_A_NEXT_STEPS_1(i, row) TW_A_ON(row##i, row##_step)
#define TW_A_NEXT_STEPS_2(i, row) TW_A_ON(row##i, row##_step)

/* Registers of one element of eight rows. */
#define TW_F_EVEN 16, 17, 18, 19, 20, 21, 22, 23
#define TW_F_ODD 24, 25, 26, 27, 28, 29, 30, 31
#define TW_A_EXPANDED(MACRO, ...) MACRO(__VA_ARGS__)

#define TW_A_FMA(t, x, y) "fmadd.s f" #t ", f" #x ", f" #y ", f" #t "\n"
#define TW_A_FETCH_ALL(A, B, a0, a1, a2, a3, b0, b1, b2, b3)                                                      \
  TW_A_LOAD_##A##_0(a0, 0, a) TW_A_LOAD_##B##_0(b0, 0, b) TW_A_LOAD_##B##_0(b1, 1, b) TW_A_LOAD_##B##_0(b2, 2, b) \
  TW_A_LOAD_##B##_0(b3, 3, b) TW_A_LOAD_##A##_0(a1, 1, a) TW_A_LOAD_##A##_0(a2, 2, a) TW_A_LOAD_##A##_0(a3, 3, a) \
  TW_A_NEXT_##A##_0(0, a) TW_A_NEXT_##A##_0(1, a) TW_A_NEXT_##A##_0(2, a) TW_A_NEXT_##A##_0(3, a)                 \
  TW_A_NEXT_##B##_0(0, b) TW_A_NEXT_##B##_0(1, b) TW_A_NEXT_##B##_0(2, b) TW_A_NEXT_##B##_0(3, b)
/* 16 products of what is there, with loads of what comes next in between. */
#define TW_A_MEET(A, B, h, a0, a1, a2, a3, b0, b1, b2, b3, n0, n1, n2, n3, m0, m1, m2, m3)                        \
  TW_A_FMA(0, a0, b0) TW_A_LOAD_##A##_##h(n0, 0, a) TW_A_FMA(1, a0, b1) TW_A_NEXT_##A##_##h(0, a)                 \
  TW_A_FMA(2, a0, b2) TW_A_LOAD_##B##_##h(m0, 0, b) TW_A_FMA(3, a0, b3) TW_A_NEXT_##B##_##h(0, b)                 \
  TW_A_FMA(4, a1, b0) TW_A_LOAD_##B##_##h(m1, 1, b) TW_A_FMA(5, a1, b1) TW_A_NEXT_##B##_##h(1, b)                 \
  TW_A_FMA(6, a1, b2) TW_A_LOAD_##B##_##h(m2, 2, b) TW_A_FMA(7, a1, b3) TW_A_NEXT_##B##_##h(2, b)                 \
  TW_A_FMA(8, a2, b0) TW_A_LOAD_##B##_##h(m3, 3, b) TW_A_FMA(9, a2, b1) TW_A_NEXT_##B##_##h(3, b)                 \
  TW_A_FMA(10, a2, b2) TW_A_LOAD_##A##_##h(n1, 1, a) TW_A_FMA(11, a2, b3) TW_A_NEXT_##A##_##h(1, a)               \
  TW_A_FMA(12, a3, b0) TW_A_LOAD_##A##_##h(n2, 2, a) TW_A_FMA(13, a3, b1) TW_A_NEXT_##A##_##h(2, a)               \
  TW_A_FMA(14, a3, b2) TW_A_LOAD_##A##_##h(n3, 3, a) TW_A_FMA(15, a3, b3) TW_A_NEXT_##A##_##h(3, a)
#define TW_A_PRODUCTS(a0, a1, a2, a3, b0, b1, b2, b3)                                                             \
  TW_A_FMA(0, a0, b0) TW_A_FMA(1, a0, b1) TW_A_FMA(2, a0, b2) TW_A_FMA(3, a0, b3)                                 \
  TW_A_FMA(4, a1, b0) TW_A_FMA(5, a1, b1) TW_A_FMA(6, a1, b2) TW_A_FMA(7, a1, b3)                                 \
  TW_A_FMA(8, a2, b0) TW_A_FMA(9, a2, b1) TW_A_FMA(10, a2, b2) TW_A_FMA(11, a2, b3)                               \
  TW_A_FMA(12, a3, b0) TW_A_FMA(13, a3, b1) TW_A_FMA(14, a3, b2) TW_A_FMA(15, a3, b3)

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

/* The first 16 products, which begin from nothing, with loads of what comes next in between. */
#define TW_A_FMUL(t, x, y) "fmul.s f" #t ", f" #x ", f" #y "\n"
#define TW_A_BEGIN_PRODUCTS(a0, a1, a2, a3, b0, b1, b2, b3, n0, n1, n2, n3, m0, m1, m2, m3)                       \
  TW_A_FMUL(0, a0, b0) TW_A_LOAD_COLUMNS_1(n0, 0, a) TW_A_FMUL(1, a0, b1) TW_A_LOAD_COLUMNS_1(m0, 0, b)           \
  TW_A_FMUL(2, a0, b2) TW_A_LOAD_COLUMNS_1(m1, 1, b) TW_A_FMUL(3, a0, b3) TW_A_LOAD_COLUMNS_1(m2, 2, b)           \
  TW_A_FMUL(4, a1, b0) TW_A_LOAD_COLUMNS_1(m3, 3, b) TW_A_FMUL(5, a1, b1) TW_A_NEXT_COLUMN_3(b)                     \
  TW_A_FMUL(6, a1, b2) TW_A_LOAD_COLUMNS_1(n1, 1, a) TW_A_FMUL(7, a1, b3) TW_A_LOAD_COLUMNS_1(n2, 2, a)           \
  TW_A_FMUL(8, a2, b0) TW_A_LOAD_COLUMNS_1(n3, 3, a) TW_A_FMUL(9, a2, b1) TW_A_NEXT_COLUMN_3(a)                     \
  TW_A_FMUL(10, a2, b2) TW_A_FMUL(11, a2, b3) TW_A_FMUL(12, a3, b0) TW_A_FMUL(13, a3, b1) TW_A_FMUL(14, a3, b2)   \
  TW_A_FMUL(15, a3, b3)
/* The last 16 products, with stores of totals and loads of the next block's first elements in between. */
#define TW_A_END_PRODUCTS(a0, a1, a2, a3, b0, b1, b2, b3, n0, n1, n2, n3, m0, m1, m2, m3)                         \
  TW_A_FMA(0, a0, b0) TW_A_LOAD_COLUMNS_1(n0, 0, a) TW_A_FMA(1, a0, b1) TW_A_LOAD_COLUMNS_1(m0, 0, b)             \
  TW_A_FMA(2, a0, b2) TW_A_LOAD_COLUMNS_1(m1, 1, b) TW_A_FMA(3, a0, b3) TW_A_LOAD_COLUMNS_1(m2, 2, b)             \
  TW_A_FMA(4, a1, b0) TW_A_STORE(0, 0) TW_A_FMA(5, a1, b1) TW_A_STORE(1, 4) TW_A_FMA(6, a1, b2) TW_A_STORE(2, 8)  \
  TW_A_FMA(7, a1, b3) TW_A_STORE(3, 12) TW_A_FMA(8, a2, b0) TW_A_NEXT_ROW(to) TW_A_FMA(9, a2, b1)                 \
  TW_A_STORE(4, 0) TW_A_FMA(10, a2, b2) TW_A_STORE(5, 4) TW_A_FMA(11, a2, b3) TW_A_STORE(6, 8)                    \
  TW_A_FMA(12, a3, b0) TW_A_STORE(7, 12) TW_A_NEXT_ROW(to) TW_A_FMA(13, a3, b1) TW_A_STORE(8, 0)                  \
  TW_A_FMA(14, a3, b2) TW_A_STORE(9, 4) TW_A_FMA(15, a3, b3) TW_A_STORE(10, 8) TW_A_STORE(11, 12)                 \
  TW_A_NEXT_ROW(to) TW_A_LOAD_COLUMNS_1(m3, 3, b) TW_A_NEXT_COLUMN_3(b) TW_A_LOAD_COLUMNS_1(n1, 1, a)               \
  TW_A_LOAD_COLUMNS_1(n2, 2, a) TW_A_LOAD_COLUMNS_1(n3, 3, a) TW_A_NEXT_COLUMN_3(a)                                 \
  TW_A_ROW("fsw", 12, 13, 14, 15, to) TW_A_ON(to, to_block)
/* Blocks one after the other, of an even number of elements. Behind the last one, its own first elements come again, so
 * that nothing else is read. */
#define TW_A_STRIP(length)                                                                                       \
  TW_A_EXPANDED(TW_A_FETCH_ALL, COLUMNS, COLUMNS, TW_F_EVEN)                                                     \
  "1:\n" TW_A_EXPANDED(TW_A_BEGIN_PRODUCTS, TW_F_EVEN, TW_F_ODD) "beqz %[pairs], 2f\n"                           \
  TW_A_BEGIN TW_A_LOOP("%[pairs]", length) TW_A_EXPANDED(TW_A_MEET, COLUMNS, COLUMNS, 1, TW_F_ODD, TW_F_EVEN)    \
  TW_A_EXPANDED(TW_A_MEET, COLUMNS, COLUMNS, 2, TW_F_EVEN, TW_F_ODD) TW_A_END                                    \
  "2:\naddi %[blocks], %[blocks], -1\nbnez %[blocks], 3f\nmv %[a_jump], %[a_back]\nmv %[b_jump], %[b_back]\n3:\n" \
  TW_A_ON(a0, a_jump) TW_A_ON(b0, b_jump) TW_A_EXPANDED(TW_A_END_PRODUCTS, TW_F_ODD, TW_F_EVEN)                  \
  "bnez %[blocks], 1b\n"

/* Pairs of elements with others behind them, in a loop of `length` instructions. */
#define TW_A_PAIRS(A, B, length)                                                                                 \
  TW_A_BEGIN TW_A_LOOP("%[pairs]", length) TW_A_EXPANDED(TW_A_MEET, A, B, 1, TW_F_EVEN, TW_F_ODD)                \
  TW_A_EXPANDED(TW_A_MEET, A, B, 2, TW_F_ODD, TW_F_EVEN) TW_A_END
#define TW_A_BLOCK(A, B, length)                                                                                 \
  TW_A_ROWS("flw", from) TW_A_EXPANDED(TW_A_FETCH_ALL, A, B, TW_F_EVEN)                                          \
  "beqz %[pairs], 1f\n" TW_A_PAIRS(A, B, length)                                                                 \
  "1:\naddi %[left], %[left], -1\nbeqz %[left], 2f\n"                                                            \
  TW_A_EXPANDED(TW_A_MEET, A, B, 1, TW_F_EVEN, TW_F_ODD) TW_A_EXPANDED(TW_A_PRODUCTS_AND_STORE, TW_F_ODD)        \
  "j 3f\n2:\n" TW_A_EXPANDED(TW_A_PRODUCTS_AND_STORE, TW_F_EVEN) "3:\n"
/* Runs of elements: behind the last one of a run comes the first one of the next, or of the same run again, so that
 * nothing is read behind the last one. */
#define TW_A_NEXT_RUN TW_A_ON(a0, a_jump) TW_A_ON(b0, b_jump)
#define TW_A_RUNS(length)                                                                                        \
  TW_A_ROWS("flw", from) TW_A_EXPANDED(TW_A_FETCH_ALL, COLUMNS, COLUMNS, TW_F_EVEN)                              \
  "1:\nbeqz %[pairs], 2f\n" TW_A_PAIRS(COLUMNS, COLUMNS, length)                                                 \
  "2:\naddi %[turns], %[turns], -1\nbnez %[turns], 3f\nmv %[a_jump], %[a_back]\nmv %[b_jump], %[b_back]\n3:\n"   \
  "beqz %[odd], 4f\n" TW_A_EXPANDED(TW_A_MEET, COLUMNS, COLUMNS, 1, TW_F_EVEN, TW_F_ODD) TW_A_NEXT_RUN           \
  TW_A_EXPANDED(TW_A_MEET, COLUMNS, COLUMNS, 2, TW_F_ODD, TW_F_EVEN) "bnez %[turns], 1b\nj 5f\n4:\n"             \
  TW_A_NEXT_RUN TW_A_EXPANDED(TW_A_PRODUCTS, TW_F_EVEN) TW_A_EXPANDED(TW_A_FETCH_ALL, COLUMNS, COLUMNS, TW_F_EVEN) \
  "bnez %[turns], 1b\n5:\n" TW_A_ROWS("fsw", to)

#define TW_A_ENDS                                                                                                \
  [from_step] "r"(4 * ends.from_step), [to_step] "r"(4 * ends.to_step)
#define TW_A_CLOBBERED                                                                                           \
  "memory", "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14",       \
      "f15", "f16", "f17", "f18", "f19", "f20", "f21", "f22", "f23", "f24", "f25", "f26", "f27", "f28", "f29",   \
      "f30", "f31"

/* In the functions that call these, so that registers are saved once for all blocks. */
#define TW_BLOCK static inline __attribute__((always_inline)) void

/* Elements of a row are a_step apart, those of b b_step; `count` is at least 1. */
TW_BLOCK tw_block_f32(const float *const a[4], int32_t a_step, const float *const b[4], int32_t b_step, int32_t count,
                      tw_block_ends ends) {
  const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  const int32_t pairs = (count - 1) >> 1;
  int32_t left = count - 2 * pairs;
  __asm__ volatile(TW_A_BLOCK(STEPS, STEPS, 64)
                   : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0), [b1] "+r"(b1),
                     [b2] "+r"(b2), [b3] "+r"(b3), [left] "+r"(left), [from] "+r"(ends.from), [to] "+r"(ends.to)
                   : [a_step] "r"(4 * a_step), [b_step] "r"(4 * b_step), [pairs] "r"(pairs), TW_A_ENDS
                   : TW_A_CLOBBERED);
}

/* The same for elements that are neighbours. */
TW_BLOCK tw_block_rows_f32(const float *const a[4], const float *const b[4], int32_t count, tw_block_ends ends) {
  const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  const int32_t pairs = (count - 1) >> 1;
  int32_t left = count - 2 * pairs;
  __asm__ volatile(TW_A_BLOCK(ROWS, ROWS, 56)
                   : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0), [b1] "+r"(b1),
                     [b2] "+r"(b2), [b3] "+r"(b3), [left] "+r"(left), [from] "+r"(ends.from), [to] "+r"(ends.to)
                   : [pairs] "r"(pairs), TW_A_ENDS
                   : TW_A_CLOBBERED);
}

/* Elements of a are neighbours in each row; of b, the four rows are. */
TW_BLOCK tw_block_rows_columns_f32(const float *const a[4], const float *b0, int32_t b_step, int32_t count,
                                   tw_block_ends ends) {
  const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
  const int32_t pairs = (count - 1) >> 1;
  int32_t left = count - 2 * pairs;
  __asm__ volatile(TW_A_BLOCK(ROWS, COLUMNS, 54)
                   : [a0] "+r"(a0), [a1] "+r"(a1), [a2] "+r"(a2), [a3] "+r"(a3), [b0] "+r"(b0), [left] "+r"(left),
                     [from] "+r"(ends.from), [to] "+r"(ends.to)
                   : [b_step] "r"(4 * b_step), [pairs] "r"(pairs), TW_A_ENDS
                   : TW_A_CLOBBERED);
}

/* The four rows are neighbours, of a and of b. */
TW_BLOCK tw_block_columns_f32(const float *a0, int32_t a_step, const float *b0, int32_t b_step, int32_t count,
                              tw_block_ends ends) {
  const int32_t pairs = (count - 1) >> 1;
  int32_t left = count - 2 * pairs;
  __asm__ volatile(TW_A_BLOCK(COLUMNS, COLUMNS, 52)
                   : [a0] "+r"(a0), [b0] "+r"(b0), [left] "+r"(left), [from] "+r"(ends.from), [to] "+r"(ends.to)
                   : [a_step] "r"(4 * a_step), [b_step] "r"(4 * b_step), [pairs] "r"(pairs), TW_A_ENDS
                   : TW_A_CLOBBERED);
}

/* The same for `blocks` blocks, at least one: operands of the next one are `jump` floats further, and so is where it goes.
 * All begin from nothing, and `count` is even. */
TW_BLOCK tw_block_even_strip_f32(const float *a0, int32_t a_step, const float *b0, int32_t b_step, int32_t count, int32_t blocks,
                                 int32_t jump, float *to, int32_t to_step) {
  const int32_t pairs = (count >> 1) - 1, a_back = -4 * count * a_step, b_back = -4 * count * b_step;
  int32_t a_jump = a_back + 4 * jump, b_jump = b_back + 4 * jump;
  __asm__ volatile(TW_A_STRIP(52)
                   : [a0] "+r"(a0), [b0] "+r"(b0), [to] "+r"(to), [blocks] "+r"(blocks), [a_jump] "+r"(a_jump),
                     [b_jump] "+r"(b_jump)
                   : [a_step] "r"(4 * a_step), [b_step] "r"(4 * b_step), [a_back] "r"(a_back), [b_back] "r"(b_back),
                     [pairs] "r"(pairs), [to_step] "r"(4 * to_step), [to_block] "r"(4 * jump - 12 * to_step)
                   : TW_A_CLOBBERED);
}

/* The same for any `count` of at least one. */
TW_BLOCK tw_block_strip_f32(const float *a0, int32_t a_step, const float *b0, int32_t b_step, int32_t count, int32_t blocks,
                            int32_t jump, float *to, int32_t to_step) {
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if ((count & 1) == 0) {
    tw_block_even_strip_f32(a0, a_step, b0, b_step, count, blocks, jump, to, to_step);
    return;
  }
  for (; blocks > 0; blocks--, a0 += jump, b0 += jump, to += jump) {
    const tw_block_ends ends = {zeros, 0, to, to_step};
    tw_block_columns_f32(a0, a_step, b0, b_step, count, ends);
  }
}

/* The same in `turns` runs of `count` elements: at least one of each. */
TW_BLOCK tw_block_runs_f32(tw_run a, tw_run b, int32_t count, int32_t turns, tw_block_ends ends) {
  const float *a0 = a.first, *b0 = b.first;
  const int32_t pairs = (count - 1) >> 1, odd = count - 2 * pairs - 1;
  const int32_t a_back = -4 * count * a.step, b_back = -4 * count * b.step;
  int32_t a_jump = 4 * a.turn + a_back, b_jump = 4 * b.turn + b_back;
  __asm__ volatile(TW_A_RUNS(52)
                   : [a0] "+r"(a0), [b0] "+r"(b0), [a_jump] "+r"(a_jump), [b_jump] "+r"(b_jump), [turns] "+r"(turns),
                     [from] "+r"(ends.from), [to] "+r"(ends.to)
                   : [a_step] "r"(4 * a.step), [b_step] "r"(4 * b.step), [a_back] "r"(a_back), [b_back] "r"(b_back),
                     [pairs] "r"(pairs), [odd] "r"(odd), TW_A_ENDS
                   : TW_A_CLOBBERED);
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

static inline void tw_block_rows_f32(const float *const a[4], const float *const b[4], int32_t count, tw_block_ends ends) {
  tw_block_f32(a, 1, b, 1, count, ends);
}

static inline void tw_block_rows_columns_f32(const float *const a[4], const float *b, int32_t b_step, int32_t count,
                                             tw_block_ends ends) {
  const float *const columns[4] = {b, b + 1, b + 2, b + 3};
  tw_block_f32(a, 1, columns, b_step, count, ends);
}

static inline void tw_block_columns_f32(const float *a, int32_t a_step, const float *b, int32_t b_step, int32_t count,
                                        tw_block_ends ends) {
  const float *const rows[4] = {a, a + 1, a + 2, a + 3}, *const columns[4] = {b, b + 1, b + 2, b + 3};
  tw_block_f32(rows, a_step, columns, b_step, count, ends);
}

static inline void tw_block_strip_f32(const float *a, int32_t a_step, const float *b, int32_t b_step, int32_t count,
                                      int32_t blocks, int32_t jump, float *to, int32_t to_step) {
  const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (; blocks > 0; blocks--, a += jump, b += jump, to += jump) {
    const tw_block_ends ends = {zeros, 0, to, to_step};
    tw_block_columns_f32(a, a_step, b, b_step, count, ends);
  }
}

static inline void tw_block_even_strip_f32(const float *a, int32_t a_step, const float *b, int32_t b_step, int32_t count,
                                           int32_t blocks, int32_t jump, float *to, int32_t to_step) {
  tw_block_strip_f32(a, a_step, b, b_step, count, blocks, jump, to, to_step);
}

static inline void tw_block_runs_f32(tw_run a, tw_run b, int32_t count, int32_t turns, tw_block_ends ends) {
  for (; turns > 0; turns--, a.first += a.turn, b.first += b.turn) {
    const float *const rows[4] = {a.first, a.first + 1, a.first + 2, a.first + 3};
    const float *const columns[4] = {b.first, b.first + 1, b.first + 2, b.first + 3};
    tw_block_f32(rows, a.step, columns, b.step, count, ends);
    ends.from = ends.to, ends.from_step = ends.to_step;
  }
}

#endif

/* Totals in memory of their own, which begin from what is there. */
static inline tw_block_ends tw_in_place(float total[16]) {
  const tw_block_ends ends = {total, 4, total, 4};
  return ends;
}

#endif
