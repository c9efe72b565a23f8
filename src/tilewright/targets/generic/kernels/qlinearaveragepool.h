#ifndef TW_QLINEARAVERAGEPOOL_H
#define TW_QLINEARAVERAGEPOOL_H

#include "requant.h"

/* x[planes][in_h][in_w], y[planes][out_h][out_w]; only elements inside x count. */
typedef struct {
  int32_t planes;
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
