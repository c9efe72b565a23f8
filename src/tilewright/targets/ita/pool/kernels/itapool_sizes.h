/* What ITAPool's front end reads for a head, and working memory. */
#ifndef TW_ITAPOOL_SIZES_H
#define TW_ITAPOOL_SIZES_H

#include "pool_heads.h"
#include "pool_product.h"

#define TW_ITAS 4
#define TW_ITA_SIDE 64    /* rows and columns of a tile */
#define TW_RECORD_BYTES 64 /* sizes of a head, and where its scales are */

/* Before the inputs: three matrices of weights. */
static inline int32_t tw_before_inputs(int32_t inner, int32_t width) { return 3 * inner * width; }

/* Behind them: one more, and biases of 32 bits. */
static inline int32_t tw_behind_inputs(int32_t inner, int32_t width) { return inner * width + 4 * (inner + 3 * width); }

static inline int32_t tw_bytes_of_block(int32_t rows, int32_t inner, int32_t width) {
  return tw_before_inputs(inner, width) + 2 * rows * inner + tw_behind_inputs(inner, width);
}

/* Heads that work at a time. */
static inline int32_t tw_heads_at_once(int32_t heads) { return heads < TW_ITAS ? heads : TW_ITAS; }

static inline int32_t tw_column_blocks(const tw_pool_product_params *p) {
  return (p->columns + TW_ITA_SIDE - 1) / TW_ITA_SIDE;
}

/* Blocks, the results of the first ITA, and what all of them read. */
static inline int64_t tw_pool_heads_scratch(const tw_pool_heads_params *p) {
  const int64_t blocks = (int64_t)tw_heads_at_once(p->heads) * tw_bytes_of_block(p->keys, p->inner, p->width);
  return blocks + (int64_t)p->keys * p->inner + TW_RECORD_BYTES;
}

static inline int64_t tw_pool_product_scratch(const tw_pool_product_params *p) {
  const int64_t block = tw_bytes_of_block(TW_ITA_SIDE, p->inner, TW_ITA_SIDE);
  return tw_heads_at_once(tw_column_blocks(p)) * block + TW_ITA_SIDE * (int64_t)p->inner + TW_RECORD_BYTES;
}

#endif
