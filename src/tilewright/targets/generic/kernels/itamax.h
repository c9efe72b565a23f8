#ifndef TW_ITAMAX_H
#define TW_ITAMAX_H

#include "requant.h"

/* Rows of x are independent. shares are from 0 to top. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t top;
  int32_t requantised; /* whether shares are requantised */
  tw_scaling out;
} tw_itamax_params;

#endif
