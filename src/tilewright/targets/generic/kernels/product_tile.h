/* A tile of a matrix product. */
#ifndef TW_PRODUCT_TILE_H
#define TW_PRODUCT_TILE_H

#include "matmul.h"
#include "tile_loops.h"

typedef struct {
  int64_t matrices, rows, inner, columns;
} tw_product_tile;

/* Whether all matrices have the same second factor. */
static inline int tw_has_one_b(const tw_matmul_params *p) {
  for (int32_t axis = 0; axis < p->rank; axis++) {
    if (p->size[axis] > 1 && p->stride_b[axis]) return 0;
  }
  return 1;
}

/* A batch of rows on one matrix is one matrix. */
static inline tw_product_tile tw_product_tile_of(const tw_product_loops *tile, int has_one_b) {
  const tw_product_tile found = {has_one_b ? 1 : tile->rest, has_one_b ? tile->rest * tile->m : tile->m, tile->k, tile->n};
  return found;
}

#endif
