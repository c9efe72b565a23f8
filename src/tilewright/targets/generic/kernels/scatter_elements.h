#ifndef TW_SCATTER_ELEMENTS_H
#define TW_SCATTER_ELEMENTS_H

#include "walk.h"

/* x and y have `count` elements; a walk over the indices, `length` elements along the axis, `step` apart. */
typedef struct {
  int32_t count;
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride[TW_MAX_RANK];
  int32_t length;
  int32_t step;
  int32_t reduction;
} tw_scatter_elements_params;

#endif
