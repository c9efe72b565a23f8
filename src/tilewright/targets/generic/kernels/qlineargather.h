#ifndef TW_QLINEARGATHER_H
#define TW_QLINEARGATHER_H

#include "gather.h"
#include "requant.h"

/* x[length, inner] -> y[count, inner]. */
typedef struct {
  int32_t length;
  int32_t inner;
  int32_t count;
  tw_requant requant;
} tw_qlineargather_params;

#endif
