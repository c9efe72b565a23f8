/* What products on vectors of 16 bytes know beyond all others. */
#ifndef TW_MATMUL_MVE_H
#define TW_MATMUL_MVE_H

#include "matmul.h"

typedef struct {
  tw_matmul_params product;
  int32_t columns; /* at a time: a multiple of four */
} tw_matmul_mve_params;

#endif
