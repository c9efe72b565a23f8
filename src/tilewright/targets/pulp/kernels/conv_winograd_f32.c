/* Convolution of floats with three by three taps and strides of one, by transformed patches; all cores together. */
#include "conv.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_winograd_f32
#endif

#include "winograd_f32.h"

void TW_NAME(const tw_conv_params *params, const float *x, const float *w, const float *b, float *y, void *scratch) {
  const tw_conv_params *const p = params;
  tw_winograd k = {.sizes = tw_winograd_of_conv(p),
                   .image = {x, 0, p->in_h, p->in_w, p->pad_top, p->pad_left, p->in_channels},
                   .w = w, .bias = b, .y = y, .w_filter = 9 * p->in_channels, .w_channel = 1,
                   .w_row = 3 * p->in_channels, .w_column = p->in_channels, .bias_step = p->bias_step,
                   .is_positive = p->activation.kind != 0};
  tw_winograd_run(&k, scratch);
}
