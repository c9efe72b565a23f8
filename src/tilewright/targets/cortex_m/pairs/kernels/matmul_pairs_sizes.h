/* Working memory of products whose columns are in pairs. */
#ifndef TW_MATMUL_PAIRS_SIZES_H
#define TW_MATMUL_PAIRS_SIZES_H

#include "matmul_pairs.h"

/* Rows that become a panel together. */
#define TW_PANEL_ROWS 4

/* The panel, two elements of a row in a word, and results of some rows before they are put in order. */
static inline int64_t tw_matmul_pairs_scratch(const tw_matmul_pairs_params *p, int32_t y_bytes) {
  const int64_t row = 4 * (int64_t)((p->inner + 1) / 2);
  return p->rows >= TW_PANEL_ROWS ? TW_PANEL_ROWS * (row + (int64_t)p->columns * y_bytes) : row;
}

#endif
