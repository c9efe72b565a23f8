#ifndef TW_QUANTIZELINEAR_H
#define TW_QUANTIZELINEAR_H

#include <stdint.h>

/* x[outer][channels][inner]; scale and zero have one value per channel. low and high are the limits of y's type. */
typedef struct {
  int32_t outer;
  int32_t channels;
  int32_t inner;
  int32_t low;
  int32_t high;
} tw_quantizelinear_params;

#endif
