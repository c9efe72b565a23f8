/* Convolution of floats with the channels last, where each group has one channel and one filter; all cores together, each
 * with channels of its own. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_depthwise_rows_f32
#endif

#include "depthwise_windows_f32.h"

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch) {
  const tw_depthwise d = tw_depthwise_in_long_rows(tw_depthwise_of_conv(params));
  tw_depthwise_f32(&d, x, w, 0, b, params->bias_step, params->activation.kind ? 0 : INT32_MIN, y, scratch);
}
