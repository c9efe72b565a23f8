#ifndef TW_ITAPARTIALMAX_H
#define TW_ITAPARTIALMAX_H

#include "requant.h"

/* Rows of x are independent, each taken in groups. shares are from 0 to top. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t top;
  int32_t group_width;
  int32_t requantised; /* whether shares are requantised */
  tw_scaling out;
} tw_itapartialmax_params;

#endif
