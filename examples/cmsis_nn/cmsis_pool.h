/* What CMSIS-NN's pools know. */
#ifndef TW_CMSIS_POOL_H
#define TW_CMSIS_POOL_H

#include <stdint.h>

typedef struct {
  int32_t batch;
  int32_t channels;
  int32_t in_h, in_w;
  int32_t out_h, out_w;
  int32_t kernel_h, kernel_w;
  int32_t stride_h, stride_w;
  int32_t pad_top, pad_left;
  int32_t low, high;
} tw_cmsis_pool_params;

#endif
