/* Products of bytes as floats: what convolutions with packed weights know, and how totals are scaled. */
#ifndef TW_CONV_DOT_SCALED_H
#define TW_CONV_DOT_SCALED_H

#include "activation.h"
#include "conv_dot.h"

typedef struct {
  tw_conv_dot_params dot;
  int32_t filters;                   /* in whole blocks */
  int32_t scales, biases;            /* 1, or one for each filter; there may be no bias */
  int32_t is_row_zero, is_row_scale; /* whether each row of X has its own */
  tw_activation activation;          /* a clamp, if any */
} tw_conv_dot_scaled_params;

#endif
