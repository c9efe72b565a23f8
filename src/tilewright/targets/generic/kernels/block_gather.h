#ifndef TW_BLOCK_GATHER_H
#define TW_BLOCK_GATHER_H

#include "tw.h"

/* w[length, row_bytes] in blocks of a format -> y[count, inner]. */
typedef struct {
  int32_t count;
  int32_t inner;
  int32_t length;
  int32_t row_bytes;
  int32_t format;
} tw_block_gather_params;

#endif
