/* Working memory of shares of masked scores. */
#ifndef TW_MASKED_SOFTMAX_SIZES_H
#define TW_MASKED_SOFTMAX_SIZES_H

#include "masked_softmax.h"
#include "masked_softmax_tables.h"

/* A table of scores, and for each core the largest ones of some heads and three words for four columns. */
static inline int64_t tw_masked_softmax_scratch(const tw_masked_softmax_params *p, int32_t cores) {
  return TW_SCORES + (int64_t)cores * (36 + 12 * (p->columns >> 2));
}

/* For each core a pointer of four bytes for each column, and one more: those of two cores begin in different banks. */
static inline int64_t tw_masked_softmax_tables_scratch(const tw_masked_softmax_tables_params *p, int32_t cores) {
  return (int64_t)cores * 4 * (p->columns + 1);
}

#endif
