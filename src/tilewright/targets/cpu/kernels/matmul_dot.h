/* More parameters of products of two int8 activations. */
#ifndef TW_MATMUL_DOT_H
#define TW_MATMUL_DOT_H

#include "matmul.h"

typedef struct {
  tw_matmul_params product;
  int32_t way;     /* tw_way */
  int32_t columns; /* of b that are packed at a time */
} tw_matmul_dot_params;

#endif
