/* Working memory of products with panels of weights in blocks. */
#ifndef TW_BLOCK_PRODUCT_SIZES_H
#define TW_BLOCK_PRODUCT_SIZES_H

#include "block_product.h"

enum {
  TW_FEW_ROWS = 8,            /* that are multiplied with levels as these are unpacked */
  TW_ROW_BLOCK_BYTES = 48,    /* of 32 elements of a row */
  TW_WIDE_BLOCK_BYTES = 40,   /* of 32 elements of a row of weights that was unpacked, at most */
  TW_WIDE_ROWS = 32,          /* rows of weights that are, at most */
  TW_NEAR_BYTES = 384 * 1024, /* of rows that stay in a level-2 cache while panels pass by */
  TW_MOST_ROWS = 480,
  TW_WHOLE_TILES = 24
};

/* Rows that stay near at a time: whole tiles of any processor. */
static inline int32_t tw_rows_at_a_time(int32_t inner) {
  const int32_t rows = TW_NEAR_BYTES / tw_max(inner / 32 * TW_ROW_BLOCK_BYTES, 1) / TW_WHOLE_TILES * TW_WHOLE_TILES;
  return tw_clamp(rows, TW_WHOLE_TILES, TW_MOST_ROWS);
}

/* Rows as bytes, and panels that were unpacked. */
static inline int64_t tw_block_product_scratch(const tw_block_product_params *p) {
  const int64_t blocks = p->inner / 32, rows = tw_min(p->rows, tw_rows_at_a_time(p->inner));
  const int64_t wide = p->rows > TW_FEW_ROWS ? blocks * TW_WIDE_BLOCK_BYTES * TW_WIDE_ROWS : 0;
  return rows * blocks * TW_ROW_BLOCK_BYTES + wide;
}

/* The same of weights that are floats, and rows that stay floats. */
static inline int32_t tw_float_rows_at_a_time(int32_t inner) {
  const int32_t rows = TW_NEAR_BYTES / tw_max(4 * inner, 1) / TW_WHOLE_TILES * TW_WHOLE_TILES;
  return tw_clamp(rows, TW_WHOLE_TILES, TW_MOST_ROWS);
}

static inline int64_t tw_block_floats_scratch(const tw_block_product_params *p) {
  const int64_t rows = tw_min(p->rows, tw_float_rows_at_a_time(p->inner));
  return p->rows > TW_FEW_ROWS ? rows * p->inner * (int64_t)sizeof(float) : 0;
}

#endif
