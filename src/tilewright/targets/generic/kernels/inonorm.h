#ifndef TW_INONORM_H
#define TW_INONORM_H

#include "tw.h"

/* A loop nest over the result; each operand advances by its stride per loop, 0 where it is broadcast. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride_x[TW_MAX_RANK];
  int32_t stride_w[TW_MAX_RANK];
  int32_t stride_b[TW_MAX_RANK];
  int32_t mul;
  int32_t shift;
} tw_inonorm_params;

#endif
