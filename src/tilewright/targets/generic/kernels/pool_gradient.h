/* Parameters of gradients of pools: the pool itself. */
#ifndef TW_POOL_GRADIENT_H
#define TW_POOL_GRADIENT_H

#include "window.h"

typedef struct {
  int32_t batch;
  int32_t channels;
  int32_t in_h, in_w;
  int32_t out_h, out_w;
  int32_t kernel_h, kernel_w;
  int32_t stride_h, stride_w;
  int32_t dilation_h, dilation_w;
  int32_t pad_top, pad_left;
  int32_t channels_last;
} tw_pool_gradient_params;

#endif
