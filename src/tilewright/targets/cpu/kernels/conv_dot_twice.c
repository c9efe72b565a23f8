/* As conv_dot.c; results of bytes are requantised once more, with a factor and a summand for each filter. */
#ifndef TW_NAME
#define TW_NAME tw_conv_dot_twice
#define TW_X int8_t
#define TW_Y int8_t
#endif

#define TW_THEN 1
#include "conv_dot_blocks.h"

void TW_NAME(const tw_conv_dot_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, const int32_t *then_mul, const int32_t *then_add, TW_Y *y, void *scratch) {
  const block all = {w, b, mul, add, then_mul, then_add, 0, NULL};
  convolve(params, (const int8_t *)x, &all, NULL, y, scratch);
}
