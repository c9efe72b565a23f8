#ifndef TW_ETHOS_U_WEIGHTS_H
#define TW_ETHOS_U_WEIGHTS_H

#include "tw.h"

/* Matrices along two axes, of inputs x results, and how far elements are apart along all four. */
typedef struct {
  const int32_t *sizes;
  const int32_t *strides;
  int32_t inputs;
  int32_t results;
  int32_t zero;
  int32_t unit;  /* results that a core of the NPU computes at once */
  int32_t block; /* results of a block, of all cores */
  int32_t cores;
} tw_ethos_u_weights_params;

#endif
