#ifndef TW_GATHER_ND_H
#define TW_GATHER_ND_H

#include "tw.h"

/* x[groups, size[0], ..., size[depth - 1], inner], indices[groups, count, depth] -> y[groups, count, inner]. */
typedef struct {
  int32_t groups;
  int32_t count;
  int32_t depth;
  int32_t size[TW_MAX_RANK];
  int32_t inner;
} tw_gather_nd_params;

#endif
