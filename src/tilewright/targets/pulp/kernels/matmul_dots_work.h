/* Units of work of matrix products: those of the core that has most. */
#ifndef TW_MATMUL_DOTS_WORK_H
#define TW_MATMUL_DOTS_WORK_H

#include "matmul_dots_sizes.h"
#include "product_tile.h"
#include "requant_work.h"
#include "small_matmul_params.h"

/* ---- any product ---- */

/* Whether columns have factors or a bias of their own. */
static inline int tw_columns_differ(const tw_matmul_params *p) {
  int differ = p->c_row || p->c_column || p->mul_row || p->mul_column || p->add_row || p->add_column;
  for (int32_t axis = 0; axis < p->rank; axis++) differ = differ || p->stride_c[axis];
  return differ;
}

/* The call, strips, blocks of four rows and columns, those that are requantised, their words and what is left of them; rows alone
 * and their words; packed bytes and matrices; results that are stored one by one, and those that are requantised in 64 bits;
 * columns with factors or a bias of their own, and blocks of high words of products; and results of 16 bits. */
static inline int64_t tw_matmul_dots_work(const tw_matmul_params *p, const tw_product_loops *tile, int32_t cores, int32_t y_bytes,
                                          int32_t add_bytes, double *units) {
  const tw_product_tile t = tw_product_tile_of(tile, tw_has_one_b(p));
  const int64_t strips = tw_column_strips((int32_t)t.columns), blocks = tw_up(t.rows, 4), words = tw_up(t.inner, 4);
  const int64_t whole = t.matrices * strips, parts = tw_row_parts((int32_t)whole, (int32_t)blocks, cores);
  const int64_t own = tw_up(whole * parts, cores);
  const int alone = t.rows < 4 || t.columns < 4;
  const int64_t some = alone ? 0 : own * tw_up(blocks, parts), single = alone ? own * tw_up(t.rows, parts) : 0;
  const int packs_a = tw_a_is_packed(p), packs_b = tw_b_is_packed(p);
  const int64_t packed = t.matrices * t.inner * (packs_a * t.rows + packs_b * t.columns), results = 16 * some + 4 * single;
  const int scattered = t.rows > 1 && p->y_column != 1;
  TW_UNITS(1, own, some, p->requantised ? some : 0, some * (t.inner / 4), some * (t.inner % 4), single, single * words,
           (double)packed / cores, tw_up(t.matrices, cores) * (packs_a + packs_b), scattered ? results : 0,
           tw_is_one_by_one(p->requantised, &p->requant, p->b_zero, add_bytes) ? results : 0, tw_columns_differ(p) ? own : 0,
           tw_is_high_word(p->requantised, &p->requant, add_bytes) ? some : 0, y_bytes == 2 ? results : 0);
}

/* The call, matrices, strips of four columns, rows of them, those that are requantised in 64 bits, and their words; strips with
 * factors of their own; rows of strips that are requantised by the high words of their products, and those with results of 16
 * bits. */
static inline int64_t tw_matvec_dots_work(const tw_matmul_params *p, const tw_product_loops *tile, int32_t cores, int32_t y_bytes,
                                          int32_t add_bytes, double *units) {
  const tw_product_tile t = tw_product_tile_of(tile, tw_has_one_b(p));
  const int64_t strips = tw_up(t.matrices * tw_up(t.columns, 4), cores), own = strips * t.rows;
  const int exact = tw_is_exact(p->requantised, &p->requant, add_bytes), high = p->requantised && p->requant.shift > 32 && !exact;
  TW_UNITS(1, t.matrices, strips, own, exact ? own : 0, own * tw_up(t.inner, 4), p->mul_row || p->mul_column ? strips : 0,
           high ? own : 0, y_bytes == 2 ? own : 0);
}

/* Of floats: the call, blocks of four rows and columns, their products; blocks of several cores share an adder. */
static inline int64_t tw_matmul_blocks_work(const tw_matmul_params *p, const tw_product_loops *tile, int32_t cores, double *units) {
  const tw_product_tile t = tw_product_tile_of(tile, tw_has_one_b(p));
  const int64_t blocks = tw_up(t.matrices * tw_up(t.rows, 4) * tw_up(t.columns, 4), cores);
  TW_UNITS(1, blocks, blocks * t.inner, cores > 1 ? blocks * t.inner : 0);
}

/* ---- small products ---- */

static inline tw_product_tile tw_small_tile_of(const tw_small_matmul_params *p, const tw_product_loops *tile) {
  return tw_product_tile_of(tile, p->batches == 1 || p->stride_b == 0);
}

/* The call, matrices, strips of four columns, rows of them, none of which are requantised in 64 bits, and their words. */
static inline int64_t tw_small_rows_work(const tw_small_matmul_params *p, const tw_product_loops *tile, int32_t cores, double *units) {
  const tw_product_tile t = tw_small_tile_of(p, tile);
  const int64_t strips = tw_up(t.matrices * tw_up(t.columns, 4), cores), own = strips * t.rows;
  TW_UNITS(1, t.matrices, strips, own, 0, own * tw_up(t.inner, 4));
}

/* The call, strips of four columns, and rows of them. */
static inline int64_t tw_gemm_k4_work(const tw_small_matmul_params *p, const tw_product_loops *tile, int32_t cores, double *units) {
  const tw_product_tile t = tw_small_tile_of(p, tile);
  const int64_t strips = t.matrices * tw_up(t.columns, 4);
  TW_UNITS(1, tw_up(strips, cores), tw_up(strips * t.rows, cores));
}

/* The call, rows, and strips of four of their columns. */
static inline int64_t tw_gemv_k4_work(const tw_small_matmul_params *p, const tw_product_loops *tile, int32_t cores, double *units) {
  const tw_product_tile t = tw_small_tile_of(p, tile);
  const int64_t own = tw_up(t.matrices * t.rows, cores);
  TW_UNITS(1, own, own * tw_up(t.columns, 4));
}

/* The call, words of columns that are transposed, blocks of four rows and columns and their words. */
static inline int64_t tw_gemm_b_rowmajor_work(const tw_small_matmul_params *p, const tw_product_loops *tile, int32_t cores,
                                              double *units) {
  const tw_product_tile t = tw_small_tile_of(p, tile);
  const int64_t strips = t.matrices * tw_up(t.columns, 4), words = tw_up(t.inner, 4);
  const int64_t blocks = tw_up(strips * tw_up(t.rows, 4), cores);
  TW_UNITS(1, tw_up(strips, cores) * words, blocks, blocks * words);
}

/* The call, strips of four columns, blocks of four rows and columns and their words. */
static inline int64_t tw_gemm_uniform_requant_work(const tw_small_matmul_params *p, const tw_product_loops *tile, int32_t cores,
                                                   double *units) {
  const tw_product_tile t = tw_small_tile_of(p, tile);
  const int64_t strips = t.matrices * tw_up(t.columns, 4), blocks = tw_up(t.rows, 4);
  const int64_t parts = tw_row_parts((int32_t)strips, (int32_t)blocks, cores), own = tw_up(strips * parts, cores);
  const int64_t some = own * tw_up(blocks, parts);
  TW_UNITS(1, own, some, some * tw_up(t.inner, 4));
}

#endif
