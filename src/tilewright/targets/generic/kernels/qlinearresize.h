#ifndef TW_QLINEARRESIZE_H
#define TW_QLINEARRESIZE_H

#include "requant.h"

/* x[outer, length, inner] -> y[outer, count, inner]; taps and weight are [count, taps]. */
typedef struct {
  int32_t outer;
  int32_t length;
  int32_t inner;
  int32_t count;
  int32_t taps;
  int32_t x_zero; /* the integer that stands for zero */
  tw_requant requant;
} tw_qlinearresize_params;

#endif
