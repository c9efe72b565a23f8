#ifndef TW_QLINEARMUL_BYTES_H
#define TW_QLINEARMUL_BYTES_H

#include "binary.h"
#include "narrowing.h"

/* out((a - a_zero) * (b - b_zero)), broadcast. */
typedef struct {
  tw_binary_params loops;
  tw_narrowing out;
  int32_t a_zero;
  int32_t b_zero;
  int32_t low;
  int32_t factor; /* of which the upper half of the product, rounded and clipped, is the result; 0 where none is */
} tw_qlinearmul_bytes_params;

#endif
