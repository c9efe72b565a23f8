#ifndef TW_GATHER_ELEMENTS_H
#define TW_GATHER_ELEMENTS_H

#include "walk.h"

/* A walk over the indices; x has `length` elements along the gathered axis, `step` apart. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride[TW_MAX_RANK];
  int32_t length;
  int32_t step;
} tw_gather_elements_params;

#endif
