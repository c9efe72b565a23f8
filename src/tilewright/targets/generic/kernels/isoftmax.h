#ifndef TW_ISOFTMAX_H
#define TW_ISOFTMAX_H

#include <stdint.h>

/* Rows of x are independent. y is from 0 to top; ln2, a, b and c describe the exponential. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t top;
  int32_t ln2;
  int32_t a;
  int32_t b;
  int32_t c;
} tw_isoftmax_params;

#endif
