/* Depthwise convolutions, channels last. */
#ifndef TW_DEPTHWISE_CHANNELS_H
#define TW_DEPTHWISE_CHANNELS_H

#include "activation.h"
#include "tw.h"

typedef struct {
  int32_t batch, channels;
  int32_t in_h, in_w, out_h, out_w;
  int32_t kernel_h, kernel_w;
  int32_t stride_h, stride_w;
  int32_t dilation_h, dilation_w;
  int32_t pad_top, pad_left;
  int32_t first, end; /* columns of results whose windows lie inside the rows of the image */
  int32_t line;       /* channels that are computed at a time: lines of memory, which are used up while they are in the cache */
  int32_t rows;       /* of results before the next of these */
  int32_t three;      /* the stride, 1 or 2, of 3 x 3 neighbouring taps of which at most one is beside the image; else 0 */
  tw_activation activation;
} tw_depthwise_channels_params;

#endif
