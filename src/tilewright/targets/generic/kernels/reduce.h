#ifndef TW_REDUCE_H
#define TW_REDUCE_H

#include "walk.h"

/* Each element of y stands for one position of the kept loops, and is made of all positions of the others in x. */
typedef struct {
  int32_t kept_rank;
  int32_t kept_size[TW_MAX_RANK];
  int32_t kept_stride[TW_MAX_RANK];
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride[TW_MAX_RANK];
  int32_t count;    /* for means: how many elements one result is made of, */
  int32_t shift;    /* the logarithm of that, */
  int32_t rounding; /* and how integers are rounded */
} tw_reduce_params;

#endif
