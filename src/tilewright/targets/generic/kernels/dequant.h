#ifndef TW_DEQUANT_H
#define TW_DEQUANT_H

#include <stdint.h>

/* q is zero_point where the value is 0. */
typedef struct {
  int32_t count;
  float scale;
  int32_t zero_point;
} tw_dequant_params;

#endif
