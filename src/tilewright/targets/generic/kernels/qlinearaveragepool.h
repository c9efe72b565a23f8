#ifndef TW_QLINEARAVERAGEPOOL_H
#define TW_QLINEARAVERAGEPOOL_H

#include "requant.h"

/* x[batch][channels][in_h][in_w], or channels last; so y. Only elements inside x count. */
typedef struct {
  int32_t batch;
  int32_t channels;
  int32_t in_h;
  int32_t in_w;
  int32_t out_h;
  int32_t out_w;
  int32_t kernel_h;
  int32_t kernel_w;
  int32_t stride_h;
  int32_t stride_w;
  int32_t dilation_h;
  int32_t dilation_w;
  int32_t pad_top;
  int32_t pad_left;
  int32_t x_zero;
  int32_t mul;
  tw_requant requant;
} tw_qlinearaveragepool_params;

#endif
