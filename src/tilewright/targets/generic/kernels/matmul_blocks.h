/* Blocks of a product: a few rows meet a run of columns, whose totals stay in vector registers.
 * Needs TW_TOTAL (the type of totals), TW_ROW_FACTOR (the type of an element of a, ready to be multiplied) and
 * TW_ADD_PRODUCT(total, factor, b). */
#ifndef TW_MATMUL_BLOCKS_H
#define TW_MATMUL_BLOCKS_H

#include <string.h>

#include "matmul.h"

#define TW_ROWS 4
#define TW_COLUMNS 32

/* total[r][i] += a[r][k] * b[k][i], summed over k, for a fixed number of rows and columns. */
#define TW_DEFINE_MULTIPLY(NAME, ROWS, COLUMNS)                                                                      \
  static void NAME(const tw_matmul_params *p, const TW_A *a, const TW_B *b, TW_TOTAL total[TW_ROWS][TW_COLUMNS]) {   \
    const int32_t a_row = p->a_row, a_column = p->a_column, b_row = p->b_row;                                        \
    TW_TOTAL sum[ROWS][COLUMNS];                                                                                     \
    for (int32_t r = 0; r < ROWS; r++) memcpy(sum[r], total[r], sizeof sum[r]);                                      \
    for (int32_t k = 0; k < p->inner; k++) {                                                                         \
      for (int32_t r = 0; r < ROWS; r++) {                                                                           \
        const TW_ROW_FACTOR factor = TW_INTO_FACTOR(p, a[r * a_row + k * a_column]);                                 \
        for (int32_t i = 0; i < COLUMNS; i++) TW_ADD_PRODUCT(sum[r][i], factor, b[k * b_row + i]);                   \
      }                                                                                                              \
    }                                                                                                                \
    for (int32_t r = 0; r < ROWS; r++) memcpy(total[r], sum[r], sizeof sum[r]);                                      \
  }

TW_DEFINE_MULTIPLY(tw_multiply_4x32, TW_ROWS, TW_COLUMNS)
TW_DEFINE_MULTIPLY(tw_multiply_1x32, 1, TW_COLUMNS)
TW_DEFINE_MULTIPLY(tw_multiply_4x8, TW_ROWS, 8)
TW_DEFINE_MULTIPLY(tw_multiply_1x8, 1, 8)
TW_DEFINE_MULTIPLY(tw_multiply_1x1, 1, 1)

/* How many columns the next block takes: as many as there is a function for. */
static inline int32_t tw_block_columns(int32_t left) { return left >= TW_COLUMNS ? TW_COLUMNS : left >= 8 ? 8 : 1; }

static void tw_multiply(const tw_matmul_params *p, const TW_A *a, const TW_B *b, int32_t rows, int32_t columns,
                        TW_TOTAL total[TW_ROWS][TW_COLUMNS]) {
  if (rows == TW_ROWS && columns == TW_COLUMNS) {
    tw_multiply_4x32(p, a, b, total);
  } else if (rows == TW_ROWS && columns == 8) {
    tw_multiply_4x8(p, a, b, total);
  } else {
    for (int32_t r = 0; r < rows; r++) {
      const TW_A *row = a + r * p->a_row;
      if (columns == TW_COLUMNS) {
        tw_multiply_1x32(p, row, b, total + r);
      } else if (columns == 8) {
        tw_multiply_1x8(p, row, b, total + r);
      } else {
        tw_multiply_1x1(p, row, b, total + r);
      }
    }
  }
}

#endif
