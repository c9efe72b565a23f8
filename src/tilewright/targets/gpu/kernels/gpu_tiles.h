/* Parameters of a product that is made tile by tile: y[rows, columns] = x[rows, inner] * w[columns, inner], where x is a
 * matrix or the windows of images with channels last. Distances are counted in elements. */
#ifndef TW_GPU_TILES_H
#define TW_GPU_TILES_H

#include "activation.h"
#include "requant.h"

/* y * mul_y + r * mul_r + offset, where both are bytes and `offset` has what their zero points contribute. */
typedef struct {
  int32_t mul_y, mul_r, offset;
  tw_requant requant;
} tw_byte_sum;

typedef struct {
  int32_t rows, columns, inner;
  int32_t x_row, w_row, y_row; /* from row to row; of windows from pixel to pixel */
  int32_t channels, in_h, in_w, out_h, out_w, kernel_w;
  int32_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int32_t splits, steps;        /* parts of the inner dimension that groups share, and steps of each */
  int32_t bias_row, bias_column; /* 0: one for all */
  int32_t mul_step, add_step;
  int32_t x_zero; /* the integer that stands for zero */
  int32_t requantised;
  tw_requant requant;
  tw_activation activation; /* of floats */
  tw_activation then;       /* of their sums with r */
  tw_byte_sum sum;          /* of bytes and r */
} tw_gpu_tiles_params;

#endif
