#ifndef TW_POOL_HEADS_H
#define TW_POOL_HEADS_H

#include <stdint.h>

/* Rows of `elements` bytes, which ITA reads as `inner`; heads of `width` columns, of which results have `columns`. */
typedef struct {
  int32_t batch, heads, columns;
  int32_t queries, keys, elements;
  int32_t inner, width;
  int32_t flips_x, flips_y;             /* whether bytes have no sign */
  int32_t multipliers[2], shifts[2], adds[8]; /* of Q, K, QK, V, AV and the output; bytes of the first two */
} tw_pool_heads_params;

#endif
