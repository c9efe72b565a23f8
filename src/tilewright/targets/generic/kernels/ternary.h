#ifndef TW_TERNARY_H
#define TW_TERNARY_H

#include "tw.h"

/* As tw_binary_params, for three operands. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride_c[TW_MAX_RANK];
  int32_t stride_a[TW_MAX_RANK];
  int32_t stride_b[TW_MAX_RANK];
} tw_ternary_params;

#endif
