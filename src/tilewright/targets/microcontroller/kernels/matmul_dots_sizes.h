/* Working memory of products by dot products of four bytes. */
#ifndef TW_MATMUL_DOTS_SIZES_H
#define TW_MATMUL_DOTS_SIZES_H

#include "matmul_blocked.h"

static inline int32_t tw_words_of_row(const tw_matmul_blocked_params *p) { return (p->inner + 3) / 4; }

/* Words of four rows, or of one where there are fewer. */
static inline int64_t tw_matmul_dots_scratch(const tw_matmul_blocked_params *p) {
  return (p->rows >= 4 ? 16 : 4) * (int64_t)tw_words_of_row(p);
}

#endif
