#ifndef TW_GPU_WRITE_TURNED_H
#define TW_GPU_WRITE_TURNED_H

#include "tw.h"

/* One row of a cache, in parts that are rotated alike. */
typedef struct {
  int32_t held;        /* rows of x and y */
  int32_t length;      /* elements of a row */
  int32_t row;         /* of a part */
  int32_t interleaved; /* 1: pairs are neighbours; 0: half a part apart */
} tw_gpu_write_turned_params;

#endif
