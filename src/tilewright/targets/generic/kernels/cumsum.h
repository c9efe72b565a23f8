#ifndef TW_CUMSUM_H
#define TW_CUMSUM_H

#include "tw.h"

/* x[outer, length, inner], summed along the middle axis. */
typedef struct {
  int32_t outer;
  int32_t length;
  int32_t inner;
  int32_t exclusive;
  int32_t reverse;
} tw_cumsum_params;

#endif
