#ifndef TW_SYMMETRIC_RANGE_H
#define TW_SYMMETRIC_RANGE_H

#include <stdint.h>

typedef struct {
  int32_t rows, count;
  float least;
} tw_symmetric_range_params;

#endif
