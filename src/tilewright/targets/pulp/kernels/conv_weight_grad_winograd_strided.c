/* The gradient of the filters of a convolution with three by three taps and strides of two, by transformed patches; all
 * cores together. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_weight_grad_winograd_strided
#endif

#define TW_FORM 2
#include "winograd_filters_f32.h"

void TW_NAME(const tw_conv_gradient_params *params, const float *x, const float *g, float *y, void *scratch) {
  tw_winograd_filters(params, x, g, y, scratch);
}
