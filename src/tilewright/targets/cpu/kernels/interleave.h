#ifndef TW_INTERLEAVE_H
#define TW_INTERLEAVE_H

#include <stdint.h>

/* x[batch][planes][pixels]; there are 2, 3 or 4 planes. */
typedef struct {
  int32_t batch, planes, pixels;
} tw_interleave_params;

#endif
