/* Convolutions of floats with three by three taps by transformed patches, of the form that TW_FORM says; all cores together. */
#ifndef TW_WINOGRAD_CONV_F32_H
#define TW_WINOGRAD_CONV_F32_H

#include "winograd_f32.h"

static inline void tw_winograd_conv(const tw_conv_params *p, const float *x, const float *w, const float *b, float *y,
                                    void *scratch) {
  tw_winograd k = {.sizes = tw_winograd_of_conv(p),
                   .image = {x, 0, p->in_h, p->in_w, p->pad_top, p->pad_left, p->in_channels, 0, 0, 0},
                   .w = w, .bias = b, .y = y, .w_filter = 9 * p->in_channels, .w_channel = 1,
                   .w_row = 3 * p->in_channels, .w_column = p->in_channels, .bias_step = p->bias_step,
                   .is_positive = p->activation.kind != 0};
  tw_winograd_run(&k, scratch);
}

#endif
