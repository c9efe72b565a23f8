#ifndef TW_QUANTISED_RANGE_H
#define TW_QUANTISED_RANGE_H

#include <stdint.h>

typedef struct {
  int32_t count;
} tw_quantised_range_params;

#endif
