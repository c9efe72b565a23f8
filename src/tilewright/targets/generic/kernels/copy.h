#ifndef TW_COPY_H
#define TW_COPY_H

#include "walk.h"

/* y[i, j, ...] = x[start + i * stride[0] + j * stride[1] + ...]; strides may be zero or negative. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride[TW_MAX_RANK];
  int32_t start;
} tw_copy_params;

#endif
