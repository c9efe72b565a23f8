/* Parameters of pooling: a window that slides over each channel's image. */
#ifndef TW_POOL_H
#define TW_POOL_H

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
  int32_t count_pads;            /* averages: whether padding counts as elements ... */
  int32_t pad_bottom, pad_right; /* ... and how much of it there is at the end */
} tw_pool_params;

#endif
