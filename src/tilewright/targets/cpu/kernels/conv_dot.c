/* Convolution of bytes, channels last, and product of rows with a constant matrix: conv_dot_blocks.h. */
#ifndef TW_NAME
#define TW_NAME tw_conv_dot
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "conv_dot_blocks.h"

void TW_NAME(const tw_conv_dot_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const block all = {w, b, mul, add, NULL, NULL, 0, NULL};
  convolve(params, (const int8_t *)x, &all, NULL, y, scratch);
}
