#ifndef TW_REQUANTIZEDADD_H
#define TW_REQUANTIZEDADD_H

#include "binary.h"
#include "requant.h"

/* Both operands are requantised, then their sum; broadcast. */
typedef struct {
  tw_binary_params loops;
  tw_scaling first;
  tw_scaling second;
  tw_scaling out;
} tw_requantizedadd_params;

#endif
