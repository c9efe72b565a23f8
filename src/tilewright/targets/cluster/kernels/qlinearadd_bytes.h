#ifndef TW_QLINEARADD_BYTES_H
#define TW_QLINEARADD_BYTES_H

#include "binary.h"
#include "narrowing.h"

/* out.add holds what the zero points of the operands contribute; the factors are mul_a and mul_b. */
typedef struct {
  tw_binary_params loops;
  tw_narrowing out;
  int32_t mul_a;
  int32_t mul_b;
  int32_t low;
} tw_qlinearadd_bytes_params;

#endif
