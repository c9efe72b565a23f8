#ifndef TW_BLOCK_MATMUL_H
#define TW_BLOCK_MATMUL_H

#include "tw.h"

/* x[rows, inner], w[columns, row_bytes] in blocks of a format, bias[columns] or none -> y[rows, columns]. */
typedef struct {
  int32_t rows;
  int32_t inner;
  int32_t columns;
  int32_t row_bytes;
  int32_t format;
  int32_t rounds_rows; /* 32 neighbours of x become whole numbers times a scale before they are multiplied */
} tw_block_matmul_params;

#endif
