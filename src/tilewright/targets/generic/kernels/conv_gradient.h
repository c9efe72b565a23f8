/* Parameters of gradients of convolutions: the convolution itself, as conv.h describes it. x is its image, g the
 * gradient of its result, w its filters. */
#ifndef TW_CONV_GRADIENT_H
#define TW_CONV_GRADIENT_H

#include "window.h"

typedef struct {
  int32_t batch;
  int32_t groups;
  int32_t channels; /* of x, of one group */
  int32_t filters;  /* of one group */
  int32_t in_h, in_w;
  int32_t out_h, out_w;
  int32_t kernel_h, kernel_w;
  int32_t stride_h, stride_w;
  int32_t dilation_h, dilation_w;
  int32_t pad_top, pad_left;
  int32_t channels_last; /* of x and g; w is [filter][row][column][channel] then */
} tw_conv_gradient_params;

#endif
