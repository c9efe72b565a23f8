/* Working memory of sums of repeated bytes, and of searches. */
#ifndef TW_ELEMENTS_SIZES_H
#define TW_ELEMENTS_SIZES_H

#include "extreme.h"
#include "requantizedadd_tables.h"

/* Elements of the second operand that a core has at a time. */
#define TW_PIECE 64

/* For each core a pointer of four bytes for each element of its piece, and one more. */
static inline int64_t tw_repeated_scratch(const tw_requantizedadd_tables_params *p, int32_t cores) {
  (void)p;
  return (int64_t)cores * (TW_PIECE + 1) * 4;
}

/* What each core has found: a value and its place. */
static inline int64_t tw_argmax_row_scratch(const tw_extreme_params *p, int32_t cores) {
  (void)p;
  return (int64_t)cores * 8;
}

#endif
