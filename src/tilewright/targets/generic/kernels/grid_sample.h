#ifndef TW_GRID_SAMPLE_H
#define TW_GRID_SAMPLE_H

#include "tw.h"

/* x[batch, channels, size[0], ...], grid[batch, points, rank] -> y[batch, channels, points]. */
typedef struct {
  int32_t batch;
  int32_t channels;
  int32_t points;
  int32_t rank;
  int32_t size[3];
  int32_t mode;    /* 0 nearest, 1 linear, 2 cubic */
  int32_t padding; /* 0 zeros, 1 border, 2 reflection */
  int32_t align;   /* -1 and 1 are the centres of the outermost elements, not their borders */
} tw_grid_sample_params;

#endif
