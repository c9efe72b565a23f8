/* Blocks of attention: the rows of a few queries meet a run of columns of a matrix, whose totals stay in registers. */
#ifndef TW_ATTENTION_BLOCKS_H
#define TW_ATTENTION_BLOCKS_H

#include "attention_sizes.h"
#include "tw.h"

#define TW_FEW_COLUMNS 8

/* total[r][i] = sum over k of a[r * a_row + k] * b[k * b_row + i], where TIMES(x, y) is a product. */
#define TW_DEFINE_BLOCK(NAME, ROWS, COLUMNS, FACTOR, B, TOTAL, TIMES)                                                     \
  static void NAME(const FACTOR *a, int32_t a_row, const B *b, int32_t b_row, int32_t inner,                      \
                   TOTAL total[ROWS][COLUMNS]) {                                                               \
    TOTAL sum[ROWS][COLUMNS] = {{0}};                                                                          \
    for (int32_t k = 0; k < inner; k++) {                                                                         \
      for (int32_t r = 0; r < ROWS; r++) {                                                                        \
        const FACTOR factor = a[r * a_row + k];                                                                   \
        for (int32_t i = 0; i < COLUMNS; i++) sum[r][i] += TIMES(factor, b[k * b_row + i]);                    \
      }                                                                                                           \
    }                                                                                                             \
    for (int32_t r = 0; r < ROWS; r++) {                                                                          \
      for (int32_t i = 0; i < COLUMNS; i++) total[r][i] = sum[r][i];                                           \
    }                                                                                                             \
  }

/* The same for the last columns of a narrow matrix, of which `columns` are there. */
#define TW_DEFINE_FEW(NAME, FACTOR, B, TOTAL, TIMES)                                                              \
  static void NAME(const FACTOR *a, const B *b, int32_t b_row, int32_t inner, int32_t columns, TOTAL *total) {    \
    for (int32_t i = 0; i < columns; i++) total[i] = 0;                                                           \
    for (int32_t k = 0; k < inner; k++) {                                                                         \
      for (int32_t i = 0; i < columns; i++) total[i] += TIMES(a[k], b[k * b_row + i]);                            \
    }                                                                                                             \
  }

#endif
