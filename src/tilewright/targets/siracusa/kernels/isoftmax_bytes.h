#ifndef TW_ISOFTMAX_BYTES_H
#define TW_ISOFTMAX_BYTES_H

#include "narrowing.h"

/* Rows of x are independent. shares are from 0 to top; ln2, a, b and c describe the exponential. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t top;
  int32_t ln2;
  int32_t a;
  int32_t b;
  int32_t c;
  tw_narrowing out; /* what becomes of a share; the result less `low` */
  int32_t low;
} tw_isoftmax_bytes_params;

#endif
