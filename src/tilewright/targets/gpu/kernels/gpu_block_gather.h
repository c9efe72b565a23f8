#ifndef TW_GPU_BLOCK_GATHER_H
#define TW_GPU_BLOCK_GATHER_H

#include "tw.h"

/* w[length, row_bytes] in blocks -> y[count, inner]. */
typedef struct {
  int32_t count, inner, length, row_bytes;
} tw_gpu_block_gather_params;

#endif
