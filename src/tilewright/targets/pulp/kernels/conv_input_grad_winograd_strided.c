/* The gradient of a convolution's operand, with three by three taps and strides of two, by transformed patches of the
 * gradient g of its result; all cores together. Four pixels in a row see three columns of g: two of them through the first
 * and the last tap, the other two through the one in the middle. */
#include "conv_gradient.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_input_grad_winograd_strided
#endif

#define TW_FORM 3
#include "winograd_f32.h"

/* Rows of g before the first one that the first pixels see. */
static inline int32_t before(int32_t pad) { return -((pad - 1) >> 1); }

void TW_NAME(const tw_conv_gradient_params *params, const float *g, const float *w, float *y, void *scratch) {
  const tw_conv_gradient_params *const p = params;
  const int32_t channels = p->channels;
  tw_winograd k = {.sizes = tw_winograd_of_gradient(p),
                   .image = {g, 0, p->out_h, p->out_w, before(p->pad_top), before(p->pad_left), p->filters,
                             p->pad_top & 1, p->pad_left & 1, 0},
                   .w = w, .y = y, .w_filter = 1,
                   .w_channel = 9 * channels, .w_row = 3 * channels, .w_column = channels};
  tw_winograd_run(&k, scratch);
}
