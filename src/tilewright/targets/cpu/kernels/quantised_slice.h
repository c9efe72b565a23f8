#ifndef TW_QUANTISED_SLICE_H
#define TW_QUANTISED_SLICE_H

#include <stdint.h>

/* low and high are the limits of y's type. */
typedef struct {
  int32_t start, count;
  int32_t low, high;
} tw_quantised_slice_params;

#endif
