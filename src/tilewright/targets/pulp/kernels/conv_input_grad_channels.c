/* The gradient of a convolution's operand, channels last, where each group has one channel and one filter: a convolution
 * of the gradient g of its result, by taps that are turned round; all cores together, each with channels of its own. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_input_grad_channels
#endif

#include "depthwise_windows_f32.h"

void TW_NAME(const tw_conv_gradient_params *params, const float *g, const float *w, float *y, void *scratch) {
  const tw_depthwise d = tw_depthwise_in_long_rows(tw_depthwise_of_operand(params));
  tw_depthwise_f32(&d, g, w, 1, 0, 0, INT32_MIN, y, scratch);
}
