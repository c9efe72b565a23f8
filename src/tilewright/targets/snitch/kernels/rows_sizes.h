/* Blocks of elements, and working memory of rows of floats. */
#ifndef TW_ROWS_SIZES_H
#define TW_ROWS_SIZES_H

#include "softmax.h"

enum { TW_BLOCK = 16 };

/* Elements of a row in whole pairs. */
static inline int32_t tw_whole_pairs(int32_t length) { return (length + 1) & ~1; }

/* For each core that has one, a row that does not begin at a multiple of 8 where it lies. */
static inline int64_t tw_softmax_blocks_scratch(const tw_softmax_params *p, int32_t cores) {
  const int32_t rows = p->outer * p->inner;
  return (rows < cores ? rows : cores) * 4 * (int64_t)tw_whole_pairs(p->length);
}

#endif
