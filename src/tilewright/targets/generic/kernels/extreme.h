#ifndef TW_EXTREME_H
#define TW_EXTREME_H

#include "tw.h"

/* x[outer, length, inner] -> y[outer, inner]: a position along the middle axis. */
typedef struct {
  int32_t outer;
  int32_t length;
  int32_t inner;
  int32_t last; /* 1: of equals the last */
} tw_extreme_params;

#endif
