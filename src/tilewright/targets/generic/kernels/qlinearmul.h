#ifndef TW_QLINEARMUL_H
#define TW_QLINEARMUL_H

#include "binary.h"
#include "requant.h"

/* y may lie in the place of an operand that is not broadcast. */
typedef struct {
  tw_binary_params loops;
  tw_requant requant;
  int32_t a_zero;
  int32_t b_zero;
  int32_t mul;
  int32_t add;
} tw_qlinearmul_params;

#endif
