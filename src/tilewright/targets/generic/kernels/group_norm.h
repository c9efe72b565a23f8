#ifndef TW_GROUP_NORM_H
#define TW_GROUP_NORM_H

#include "tw.h"

/* x[batch, groups, channels, plane]; scale and bias are [groups, channels]. */
typedef struct {
  int32_t batch;
  int32_t groups;
  int32_t channels;
  int32_t plane;
  float epsilon;
} tw_group_norm_params;

#endif
