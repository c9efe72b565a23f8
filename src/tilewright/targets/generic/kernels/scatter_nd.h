#ifndef TW_SCATTER_ND_H
#define TW_SCATTER_ND_H

#include "tw.h"

/* x and y[size[0], ..., size[depth - 1], inner] with `count` elements; indices[tuples, depth], updates[tuples, inner]. */
typedef struct {
  int32_t count;
  int32_t tuples;
  int32_t depth;
  int32_t size[TW_MAX_RANK];
  int32_t inner;
  int32_t reduction;
} tw_scatter_nd_params;

#endif
