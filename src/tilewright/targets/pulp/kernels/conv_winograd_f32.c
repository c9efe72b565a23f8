/* Convolution of floats with three by three taps and strides of one, by transformed patches; all cores together. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_winograd_f32
#endif

#define TW_FORM 1
#include "winograd_conv_f32.h"

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch) {
  tw_winograd_conv(params, x, w, b, y, scratch);
}
