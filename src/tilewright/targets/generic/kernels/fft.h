#ifndef TW_FFT_H
#define TW_FFT_H

#include "tw.h"

/* x[rows, length, parts], w[length / 2, 2] -> y[rows, length, 2], times a factor. The length is a power of two. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t parts;
  float factor;
} tw_fft_params;

#endif
