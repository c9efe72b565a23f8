#ifndef TW_ITAPARTIALMAX_H
#define TW_ITAPARTIALMAX_H

#include <stdint.h>

/* Rows of x are independent, each taken in groups. y is from 0 to top. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t top;
  int32_t group_width;
} tw_itapartialmax_params;

#endif
