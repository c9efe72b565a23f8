#ifndef TW_POOL_PRODUCT_H
#define TW_POOL_PRODUCT_H

#include <stdint.h>

/* Rows of `elements` bytes, which ITA reads as `inner`: the last 64 of these say which row it is. */
typedef struct {
  int32_t batch, rows, elements, columns;
  int32_t inner;
  int32_t flips_in, flips_out;                /* whether bytes have no sign */
  int32_t multipliers[2], shifts[2], adds[8]; /* of Q, K, QK, V, AV and the output; bytes of the first two */
} tw_pool_product_params;

#endif
