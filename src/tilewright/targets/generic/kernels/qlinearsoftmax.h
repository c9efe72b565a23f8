#ifndef TW_QLINEARSOFTMAX_H
#define TW_QLINEARSOFTMAX_H

#include "requant.h"

/* x[outer][count][inner]; the sum is taken over count. */
typedef struct {
  int32_t outer;
  int32_t count;
  int32_t inner;
  int64_t numerator;
  tw_requant requant;
} tw_qlinearsoftmax_params;

#endif
