/* Rows of x in products with weights in blocks: 32 neighbours as whole numbers. */
#ifndef TW_BLOCK_MATMUL_BYTES_SIZES_H
#define TW_BLOCK_MATMUL_BYTES_SIZES_H

#include "block_matmul.h"

enum { TW_BLOCK_PAIRS = 16, TW_BYTES_BLOCK = 32 };

/* `pair`: two of them in the halves of a word, for weights of 4 bits; else `level` has them one by one. */
typedef struct {
  union {
    int32_t pair[TW_BLOCK_PAIRS];
    int8_t level[TW_BYTES_BLOCK];
  } x;
  int32_t eight_sums; /* 8 times the sum of all */
  float scale;
} tw_byte_block;

static inline int64_t tw_block_matmul_bytes_scratch(const tw_block_matmul_params *p) {
  return (int64_t)p->rows * (p->inner / TW_BYTES_BLOCK) * (int64_t)sizeof(tw_byte_block);
}

#endif
