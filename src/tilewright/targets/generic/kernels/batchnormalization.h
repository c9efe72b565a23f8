#ifndef TW_BATCHNORMALIZATION_H
#define TW_BATCHNORMALIZATION_H

#include "tw.h"

/* x is [batch, channels, elements]. */
typedef struct {
  int32_t batch, channels, elements;
  float epsilon;
} tw_batchnormalization_params;

#endif
