/* The gradient of a convolution's operand, with three by three taps and strides of one: a convolution of the gradient g of
 * its result by its filters, whose taps are turned round, by transformed patches; all cores together. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_input_grad_winograd
#endif

#define TW_FORM 1
#include "winograd_f32.h"

void TW_NAME(const tw_conv_gradient_params *params, const float *g, const float *w, float *y, void *scratch) {
  const tw_conv_gradient_params *const p = params;
  const int32_t channels = p->channels;
  tw_winograd k = {.sizes = tw_winograd_of_gradient(p),
                   .image = {g, 0, p->out_h, p->out_w, 2 - p->pad_top, 2 - p->pad_left, p->filters, 0, 0, 0},
                   .w = w + 8 * channels, .y = y, .w_filter = 1,
                   .w_channel = 9 * channels, .w_row = -3 * channels, .w_column = -channels};
  tw_winograd_run(&k, scratch);
}
