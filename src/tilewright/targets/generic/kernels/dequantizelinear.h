#ifndef TW_DEQUANTIZELINEAR_H
#define TW_DEQUANTIZELINEAR_H

#include <stdint.h>

/* x[outer][channels][inner]; scale and zero have one value per channel. */
typedef struct {
  int32_t outer;
  int32_t channels;
  int32_t inner;
} tw_dequantizelinear_params;

#endif
