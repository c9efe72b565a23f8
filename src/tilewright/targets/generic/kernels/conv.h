/* Parameters of convolutions: channels in groups, a window over an image, zero points, a requantisation per filter. */
#ifndef TW_CONV_H
#define TW_CONV_H

#include "activation.h"
#include "requant.h"
#include "tw.h"
#include "window.h"

typedef struct {
  int32_t batch;
  int32_t groups;
  int32_t in_channels;  /* of one group */
  int32_t out_channels; /* of one group */
  int32_t in_h, in_w;
  int32_t out_h, out_w;
  int32_t kernel_h, kernel_w;
  int32_t stride_h, stride_w;
  int32_t dilation_h, dilation_w;
  int32_t pad_top, pad_left;
  int32_t x_zero, w_zero;                 /* the integers that stand for zero */
  int32_t bias_step, mul_step, add_step;  /* 1: a value for each filter; 0: one for all */
  int32_t requantised;                    /* whether accumulators are requantised */
  tw_requant requant;
  int32_t chunk;  /* how much is worked on at a time: channels, or output rows in depthwise kernels */
  int32_t strips; /* whether windows are taken from strips of the image, `chunk` output pixels of a row at a time */
  int32_t padded; /* whether windows are gathered from a copy of the image with its padding */
  tw_activation activation; /* of floats */
} tw_conv_params;

/* The initial accumulator of one filter. */
static inline int32_t tw_conv_bias(const tw_conv_params *p, const int32_t *b, int32_t filter) {
  return b ? b[filter * p->bias_step] : 0;
}

#endif
