/* Units of work of convolutions on vectors of 16 bytes. */
#ifndef TW_CONV_MVE_WORK_H
#define TW_CONV_MVE_WORK_H

#include "conv_mve_sizes.h"
#include "units_of_work.h"

/* tw_vector_way in requant_mve.h, which only the target's compiler reads. */
#define TW_WAY_ANY 2
/* Results that are requantised quickly, or otherwise, or not at all. */
#define TW_BY_RESULT(count)                                                                                   \
  (p->way != TW_WAY_ANY) * (count), (p->way == TW_WAY_ANY && conv->requantised) * (count), !conv->requantised * (count)

/* Windows along an axis that lie inside the image. */
static inline int64_t tw_inner(int32_t count, int32_t stride, int32_t before, int32_t size, int32_t reach) {
  const int64_t first = tw_up(before, stride), end = (size - reach + before) / stride + 1;
  return size < reach ? 0 : tw_most(0, tw_least(end, count) - first);
}

static inline int64_t tw_inner_windows(const tw_conv_params *p) {
  return tw_inner(p->out_h, p->stride_h, p->pad_top, p->in_h, (p->kernel_h - 1) * p->dilation_h + 1) *
         tw_inner(p->out_w, p->stride_w, p->pad_left, p->in_w, (p->kernel_w - 1) * p->dilation_w + 1);
}

/* The call; blocks of filters on strips; windows of one vector with them, and vectors of others; results; windows that
 * are gathered, their rows inside and at a border, and the vectors of these. */
static inline int64_t tw_conv_mve_work(const tw_conv_mve_params *p, int32_t x_bytes, double *units) {
  const tw_conv_params *const conv = &p->conv;
  const int64_t images = (int64_t)conv->batch * conv->groups, pixels = (int64_t)conv->out_h * conv->out_w;
  const int64_t blocks = tw_up(conv->out_channels, 4), strips = p->strip ? tw_up(pixels, p->strip) : 1;
  const int64_t vectors = tw_window_bytes(p, x_bytes) / TW_VECTOR_BYTES, fours = images * pixels * blocks;
  const int64_t gathered = p->strip ? images * pixels : 0, inner = p->strip ? images * tw_inner_windows(conv) : 0;
  const int64_t row = tw_in_vectors((int64_t)conv->kernel_w * conv->in_channels, x_bytes) / TW_VECTOR_BYTES;
  const int is_one = vectors == 1;
  TW_UNITS(1, images * strips * blocks, fours * is_one, fours * vectors * !is_one, TW_BY_RESULT(fours), gathered,
           inner * conv->kernel_h, (gathered - inner) * conv->kernel_h, gathered * conv->kernel_h * row);
}

/* The call; pixels; taps of vectors of channels, and of the half of one that is left; results of both; windows and taps
 * at a border. */
static inline int64_t tw_depthwise_mve_work(const tw_conv_mve_params *p, int32_t x_bytes, double *units) {
  const tw_conv_params *const conv = &p->conv;
  const int64_t pixels = (int64_t)conv->batch * conv->out_h * conv->out_w, pairs = tw_tap_pairs(conv);
  const int32_t length = TW_VECTOR_BYTES / x_bytes, left = conv->groups % length, is_half = left && left <= 8;
  const int64_t halves = x_bytes == 1 && is_half ? pixels : 0;
  const int64_t vectors = pixels * tw_up(conv->groups, length) - halves;
  const int64_t border = pixels - conv->batch * tw_inner_windows(conv);
  TW_UNITS(1, pixels, vectors * pairs, halves * pairs, TW_BY_RESULT(vectors), TW_BY_RESULT(halves), border,
           border * pairs);
}

#endif
