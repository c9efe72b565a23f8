#ifndef TW_TFLITESOFTMAX_H
#define TW_TFLITESOFTMAX_H

#include <stdint.h>

/* Rows of `length` elements; a share with 31 fractional bits is divided by 2^bits, and `low` is added. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t bits;
  int32_t low, high;
} tw_tflitesoftmax_params;

#endif
