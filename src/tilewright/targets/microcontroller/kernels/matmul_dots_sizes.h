/* Working memory of products by dot products of four bytes, and bit by bit. */
#ifndef TW_MATMUL_DOTS_SIZES_H
#define TW_MATMUL_DOTS_SIZES_H

#include "matmul_blocked.h"

/* Of a column, with so many weights in each. */
static inline int32_t tw_weight_words(const tw_matmul_blocked_params *p, int32_t of_word) { return (p->inner + of_word - 1) / of_word; }

/* Bytes of four rows, or of one where there are fewer. */
static inline int64_t tw_dotted_rows(const tw_matmul_blocked_params *p, int32_t of_word) {
  return (p->rows >= 4 ? 4 : 1) * (int64_t)of_word * tw_weight_words(p, of_word);
}

static inline int64_t tw_matmul_dots_scratch(const tw_matmul_blocked_params *p) { return tw_dotted_rows(p, 4); }
static inline int64_t tw_matmul_bits_scratch(const tw_matmul_blocked_params *p) { return tw_dotted_rows(p, 16); }

#endif
