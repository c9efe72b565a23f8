#ifndef TW_TOPK_H
#define TW_TOPK_H

#include "tw.h"

/* x[outer, length, inner] -> y and indices[outer, k, inner]: the largest or the smallest along the middle axis. */
typedef struct {
  int32_t outer;
  int32_t length;
  int32_t inner;
  int32_t k;
  int32_t largest;
} tw_topk_params;

#endif
