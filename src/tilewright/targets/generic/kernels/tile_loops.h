/* Extents of the loops of a tile, for headers `*_work.h`: a field has the loop of its name, 1 where the operator has no such loop;
 * `rest` has the product of all loops that a struct does not name. */
#ifndef TW_TILE_LOOPS_H
#define TW_TILE_LOOPS_H

#include <stdint.h>

/* Images, groups, filters and channels of a group, rows and columns of results, rows and columns of taps. */
typedef struct {
  int64_t n, g, f, c, y, x, r, s;
} tw_conv_loops;

/* Rows, columns, products of a sum; matrices. */
typedef struct {
  int64_t m, n, k, rest;
} tw_product_loops;

/* Steps and sequences. */
typedef struct {
  int64_t t, b;
} tw_cell_loops;

/* Sequences, queries, groups of heads and heads of a group, elements of a key and of a value. */
typedef struct {
  int64_t b, t, g, r, d, e;
} tw_attention_loops;

/* All together: points. */
typedef struct {
  int64_t rest;
} tw_all_loops;

#endif
