#ifndef TW_REQUANTIZEDADD_BYTES_H
#define TW_REQUANTIZEDADD_BYTES_H

#include "binary.h"
#include "narrowing.h"

/* Both operands are requantised, then their sum; broadcast. */
typedef struct {
  tw_binary_params loops;
  tw_narrowing first;
  tw_narrowing second;
  tw_narrowing out; /* of the sum of what the other two give */
  int32_t low;
} tw_requantizedadd_bytes_params;

#endif
