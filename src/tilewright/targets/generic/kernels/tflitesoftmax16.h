#ifndef TW_TFLITESOFTMAX16_H
#define TW_TFLITESOFTMAX16_H

#include <stdint.h>

/* Rows of `length` elements, whose distances are scaled by mul / 2^31 * 2^exponent. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t mul;
  int32_t exponent;
  int32_t rounding;
} tw_tflitesoftmax16_params;

#endif
