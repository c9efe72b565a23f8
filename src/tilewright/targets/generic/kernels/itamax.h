#ifndef TW_ITAMAX_H
#define TW_ITAMAX_H

#include <stdint.h>

/* Rows of x are independent. y is from 0 to top. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t top;
} tw_itamax_params;

#endif
