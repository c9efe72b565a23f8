#ifndef TW_ARGMAXMATMUL_H
#define TW_ARGMAXMATMUL_H

#include "requant.h"

/* a[rows, length] and b[words, length] -> best[rows, blocks] and place[rows, blocks]; the last block may be shorter. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t words;
  int32_t block;
  int32_t blocks;
  int32_t requantised;
  tw_requant requant;
} tw_argmaxmatmul_params;

static inline int32_t tw_block_end(const tw_argmaxmatmul_params *p, int32_t first) {
  return first + p->block < p->words ? first + p->block : p->words;
}

#endif
