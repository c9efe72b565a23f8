#ifndef TW_TFLITEL2NORM_H
#define TW_TFLITEL2NORM_H

#include <stdint.h>

/* Rows of `length` elements, less `x_zero`. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t x_zero;
} tw_tflitel2norm_params;

#endif
