#ifndef TW_IGELU_H
#define TW_IGELU_H

#include <stdint.h>

/* b is the negative bound of |x|, one what stands for 1. */
typedef struct {
  int32_t count;
  int32_t b;
  int32_t one;
} tw_igelu_params;

#endif
