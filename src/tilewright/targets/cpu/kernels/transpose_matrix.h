#ifndef TW_TRANSPOSE_MATRIX_H
#define TW_TRANSPOSE_MATRIX_H

#include "tw.h"

typedef struct {
  int32_t batch;
  int32_t rows, columns; /* of x; y has as many columns and rows */
} tw_transpose_matrix_params;

#endif
