#ifndef TW_LRN_H
#define TW_LRN_H

#include "tw.h"

/* x[batch, channels, plane]; alpha is already divided by the number of channels in a window. */
typedef struct {
  int32_t batch;
  int32_t channels;
  int32_t plane;
  int32_t size;
  float alpha;
  float beta;
  float bias;
} tw_lrn_params;

#endif
