/* Windows that gradients of filters with few channels copy, and the working memory for them. */
#ifndef TW_CONV_WEIGHT_GRAD_SIZES_H
#define TW_CONV_WEIGHT_GRAD_SIZES_H

#include "conv_gradient.h"

/* Floats of windows that are copied at once, at the most where four pixels take less. */
#define TW_WINDOW_FLOATS 4096

/* Whether windows are copied, so that four of their elements are four columns: channels alone would be two at the most. */
static inline int tw_copies_windows(const tw_conv_gradient_params *p) {
  return p->groups == 1 && p->channels < 3 && p->filters % 4 == 0;
}

/* Floats of a window, in whole quads. */
static inline int32_t tw_copied_window(const tw_conv_gradient_params *p) {
  return (p->kernel_h * p->kernel_w * p->channels + 3) & ~3;
}

/* Windows that are copied at once. */
static inline int32_t tw_windows_at_once(const tw_conv_gradient_params *p) {
  return tw_min(p->batch * p->out_h * p->out_w, tw_max(4, TW_WINDOW_FLOATS / tw_copied_window(p)));
}

/* Windows, and totals of all blocks. */
static inline int64_t tw_conv_weight_grad_blocks_scratch(const tw_conv_gradient_params *p) {
  return tw_copies_windows(p) ? 4 * (int64_t)tw_copied_window(p) * (tw_windows_at_once(p) + p->filters) : 0;
}

#endif
