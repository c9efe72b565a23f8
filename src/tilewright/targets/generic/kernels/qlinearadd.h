#ifndef TW_QLINEARADD_H
#define TW_QLINEARADD_H

#include "binary.h"
#include "requant.h"

/* offset holds what the zero points of the operands contribute. y may lie in the place of an operand. */
typedef struct {
  tw_binary_params loops;
  tw_requant requant;
  int32_t mul_a;
  int32_t mul_b;
  int64_t offset;
} tw_qlinearadd_params;

#endif
