/* As conv_dot.c; results of bytes are added to another tensor of bytes, weighted, and requantised once more. */
#ifndef TW_NAME
#define TW_NAME tw_conv_dot_sum
#define TW_X int8_t
#define TW_R int8_t
#define TW_Y int8_t
#endif

#define TW_THEN 2
#include "conv_dot_blocks.h"

void TW_NAME(const tw_conv_dot_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, const int32_t *then_mul, const int32_t *then_add, const TW_R *r, TW_Y *y, void *scratch) {
  const block all = {w, b, mul, add, then_mul, then_add, 0, NULL};
  convolve(params, (const int8_t *)x, &all, r, y, scratch);
}
