#ifndef TW_SOFTMAX_H
#define TW_SOFTMAX_H

#include "tw.h"

/* x[outer, length, inner], a distribution along the middle axis. */
typedef struct {
  int32_t outer;
  int32_t length;
  int32_t inner;
  int32_t logarithm; /* 1: the logarithm of the softmax */
} tw_softmax_params;

#endif
