/* Working memory of products with weights in blocks. */
#ifndef TW_BLOCK_MATMUL_SIZES_H
#define TW_BLOCK_MATMUL_SIZES_H

#include "block_matmul.h"

enum { TW_BLOCK_RUN = 256 }; /* weights of a row that are floats at a time */

/* Weights as floats, and rows that were rounded. */
static inline int64_t tw_block_matmul_scratch(const tw_block_matmul_params *p) {
  const int64_t rounded = p->rounds_rows ? (int64_t)p->rows * p->inner : 0;
  return (TW_BLOCK_RUN + rounded) * (int64_t)sizeof(float);
}

#endif
