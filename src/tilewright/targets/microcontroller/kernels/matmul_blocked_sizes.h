/* Working memory of products of interleaved rows with columns in blocks. */
#ifndef TW_MATMUL_BLOCKED_SIZES_H
#define TW_MATMUL_BLOCKED_SIZES_H

#include "filter_block.h"
#include "matmul.h"
#include "matmul_blocked.h"

/* Rows that meet a block of columns together. */
#define TW_PANEL_ROWS 4

/* Of b, interleaved. */
#define TW_PANEL_BYTES 4096

/* Columns of b that are interleaved at a time: whole blocks, as many as the bytes for them hold, but one at least. */
static inline int32_t tw_columns_at_a_time(const tw_matmul_params *p) {
  const int32_t all = (p->columns + TW_BLOCK - 1) & -TW_BLOCK, held = TW_PANEL_BYTES / tw_max(p->inner, 1) & -TW_BLOCK;
  return tw_max(TW_BLOCK, tw_min(all, held));
}

/* Four rows, where there are so many. */
static inline int64_t tw_matmul_blocked_scratch(const tw_matmul_blocked_params *p) {
  return p->rows >= TW_PANEL_ROWS ? TW_PANEL_ROWS * (int64_t)p->inner : 0;
}

/* What totals begin with, four rows, and some columns. */
static inline int64_t tw_matmul_panels_scratch(const tw_matmul_params *p) {
  const int64_t columns = tw_columns_at_a_time(p);
  return 4 * columns + (TW_PANEL_ROWS + columns) * p->inner;
}

#endif
