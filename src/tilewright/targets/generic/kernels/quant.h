#ifndef TW_QUANT_H
#define TW_QUANT_H

#include <stdint.h>

/* y is from low to high. */
typedef struct {
  int32_t count;
  float scale;
  int32_t zero_point;
  int32_t low;
  int32_t high;
} tw_quant_params;

#endif
