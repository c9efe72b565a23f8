/* Units of work of matrix products on a core that computes one element at a time. */
#ifndef TW_MATMUL_WORK_H
#define TW_MATMUL_WORK_H

#include "matmul_packed.h"
#include "matmul_sizes.h"
#include "product_tile.h"
#include "stored_work.h"

/* The call and its matrices; blocks of columns with four rows and with one, and with each element of these; what is copied where
 * columns are no rows of a block, and its rows; elements of rows, which each block sums; results. */
static inline int64_t tw_matmul_rows_work(const tw_matmul_params *p, const tw_product_loops *tile, int32_t a_bytes, double *units) {
  const tw_product_tile t = tw_product_tile_of(tile, tw_has_one_b(p));
  const int64_t strips = t.matrices * tw_up(t.columns, TW_COLUMNS), fours = t.rows / TW_ROWS, ones = t.rows % TW_ROWS;
  const int64_t times = t.inner > (a_bytes == 4 ? TW_FLOAT_ROWS : TW_BYTE_ROWS) ? fours + (ones > 0) : 1;
  const int64_t copied = t.columns < TW_COLUMNS || p->b_column != 1 ? strips * t.inner * times : 0;
  TW_UNITS(1, t.matrices, strips * fours, strips * fours * t.inner, strips * ones, strips * ones * t.inner,
           copied * tw_least(t.columns, TW_COLUMNS), copied, strips * t.rows * t.inner,
           TW_STORED(p, t.matrices * t.rows * t.columns));
}

/* With packed weights, as of kernels that say nothing, with products along the sum, which is no loop. */
static inline int64_t tw_matmul_packed_work(const tw_matmul_packed_params *p, const tw_product_loops *tile, double *units) {
  const int64_t results = tile->m * tile->n * tile->k * tile->rest;
  TW_UNITS(1, 1, (double)results / tw_most(tile->n, 1), results * p->inner, results);
}

#endif
