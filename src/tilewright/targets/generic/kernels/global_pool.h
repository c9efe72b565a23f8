#ifndef TW_GLOBAL_POOL_H
#define TW_GLOBAL_POOL_H

#include "tw.h"

/* One result for each plane of `elements` elements. */
typedef struct {
  int32_t planes;
  int32_t elements;
} tw_global_pool_params;

#endif
