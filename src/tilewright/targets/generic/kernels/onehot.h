#ifndef TW_ONEHOT_H
#define TW_ONEHOT_H

#include "tw.h"

/* indices[outer, inner] -> y[outer, length, inner], which are positions start, start + 1, ... of `depth`. */
typedef struct {
  int32_t outer;
  int32_t depth;
  int32_t start;
  int32_t length;
  int32_t inner;
} tw_onehot_params;

#endif
