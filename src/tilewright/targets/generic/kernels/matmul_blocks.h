/* Blocks of a product: a few rows meet a run of columns, whose totals stay in vector registers.
 * Needs TW_A, TW_B, TW_TOTAL (the type of totals), TW_FACTOR (the type of an element of a that is ready to be
 * multiplied), TW_INTO_FACTOR(p, a), TW_ADD_PRODUCT(total, factor, b) and TW_PANEL_ROWS; where b is stored in another
 * type than it is multiplied in, TW_PANEL (that type) and TW_FROM_B(b). */
#ifndef TW_MATMUL_BLOCKS_H
#define TW_MATMUL_BLOCKS_H

#include "bytes.h"
#include "matmul_sizes.h"

#ifndef TW_PANEL
#define TW_PANEL TW_B
#define TW_FROM_B(x) (x)
#endif

/* total[r][i] += a[r][k] * b[k][i], summed over k, for a fixed number of rows. */
#define TW_DEFINE_MULTIPLY(NAME, ROWS)                                                                  \
  static void NAME(const tw_matmul_params *p, const TW_A *a, const TW_PANEL *b, int32_t b_row,          \
                   int32_t inner, TW_TOTAL total[ROWS][TW_COLUMNS]) {                                   \
    const int32_t a_row = p->a_row, a_column = p->a_column;                                             \
    TW_TOTAL sum[ROWS][TW_COLUMNS];                                                                     \
    memcpy(sum, total, sizeof sum);                                                                     \
    for (int32_t k = 0; k < inner; k++) {                                                               \
      for (int32_t r = 0; r < ROWS; r++) {                                                              \
        const TW_FACTOR factor = TW_INTO_FACTOR(p, a[r * a_row + k * a_column]);                        \
        for (int32_t i = 0; i < TW_COLUMNS; i++) TW_ADD_PRODUCT(sum[r][i], factor, b[k * b_row + i]);   \
      }                                                                                                 \
    }                                                                                                   \
    memcpy(total, sum, sizeof sum);                                                                     \
  }

TW_DEFINE_MULTIPLY(tw_multiply_rows, TW_ROWS)
TW_DEFINE_MULTIPLY(tw_multiply_row, 1)

/* A copy of some columns of b, row by row and TW_COLUMNS wide, where b itself is narrower, stored by columns or in
 * another type. */
static inline int tw_needs_panel(const tw_matmul_params *p) {
  return tw_b_is_copied(p) || sizeof(TW_PANEL) != sizeof(TW_B);
}

static void tw_load_panel(const tw_matmul_params *p, const TW_B *b, int32_t rows, int32_t columns, TW_PANEL *panel) {
  memset(panel, 0, (size_t)rows * TW_COLUMNS * sizeof *panel);
  for (int32_t i = 0; i < columns; i++) {
    for (int32_t k = 0; k < rows; k++) panel[k * TW_COLUMNS + i] = TW_FROM_B(b[i * p->b_column + k * p->b_row]);
  }
}

/* Adds the products of some rows of a and the columns of b from `b` on to the totals. The panel is loaded when it is
 * needed: once for the first rows, unless b is too high for it. */
static void tw_multiply(const tw_matmul_params *p, const TW_A *a, const TW_B *b, int32_t rows, int32_t columns,
                        int is_first, TW_PANEL *panel, TW_TOTAL total[TW_ROWS][TW_COLUMNS]) {
  const int needs_panel = tw_needs_panel(p);
  const int32_t height = needs_panel ? TW_PANEL_ROWS : tw_max(p->inner, 1);
  for (int32_t k = 0; k < p->inner; k += height) {
    const int32_t part = tw_min(height, p->inner - k), b_row = needs_panel ? TW_COLUMNS : p->b_row;
    const TW_PANEL *from = needs_panel ? panel : (const TW_PANEL *)(b + k * p->b_row);
    if (needs_panel && (is_first || p->inner > height)) tw_load_panel(p, b + k * p->b_row, part, columns, panel);
    if (rows == TW_ROWS) {
      tw_multiply_rows(p, a + k * p->a_column, from, b_row, part, total);
    } else {
      for (int32_t r = 0; r < rows; r++) {
        tw_multiply_row(p, a + r * p->a_row + k * p->a_column, from, b_row, part, total + r);
      }
    }
  }
}

/* Where a block of columns begins: the last one overlaps the one before, if there are enough columns for a block. */
static inline int32_t tw_block_start(const tw_matmul_params *p, int32_t column) {
  return p->columns >= TW_COLUMNS ? tw_min(column, p->columns - TW_COLUMNS) : column;
}

#endif
