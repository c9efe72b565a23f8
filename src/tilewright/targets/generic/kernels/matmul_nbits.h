#ifndef TW_MATMUL_NBITS_H
#define TW_MATMUL_NBITS_H

#include "tw.h"

/* a[rows, inner], b[columns, blocks, block_bytes], scales and zeros[columns, blocks] -> y[rows, columns]. */
typedef struct {
  int32_t rows;
  int32_t inner;
  int32_t columns;
  int32_t blocks;
  int32_t block;
  int32_t block_bytes;
  int32_t bits;
} tw_matmul_nbits_params;

#endif
