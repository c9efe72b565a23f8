#ifndef TW_BINARY_H
#define TW_BINARY_H

#include "tw.h"

/* A loop nest over the result; each operand advances by its stride per loop, 0 where it is broadcast.
 * The result is contiguous and may lie in the place of an operand that is not broadcast. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride_a[TW_MAX_RANK];
  int32_t stride_b[TW_MAX_RANK];
} tw_binary_params;

#endif
