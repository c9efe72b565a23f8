#ifndef TW_GPU_ROTATE_H
#define TW_GPU_ROTATE_H

#include "binary.h"

/* Pairs of elements of a row, turned. */
typedef struct {
  tw_binary_params loops; /* over the result: a is cosines, b sines */
  int32_t length;         /* of a row */
  int32_t interleaved;    /* 1: pairs are neighbours; 0: half a row apart */
} tw_gpu_rotate_params;

#endif
