#ifndef TW_ISOFTMAX_H
#define TW_ISOFTMAX_H

#include "requant.h"

/* Rows of x are independent. shares are from 0 to top; ln2, a, b and c describe the exponential. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t top;
  int32_t ln2;
  int32_t a;
  int32_t b;
  int32_t c;
  int32_t requantised; /* whether shares are requantised */
  tw_scaling out;
} tw_isoftmax_params;

#endif
