/* As conv_dot.c; totals become floats. The zero point of X is known when it is called: what it adds to totals is that many
 * times the sum of the weights, and padding has its value. */
#include "conv_dot_scaled.h"

#include <math.h>

#ifndef TW_NAME
#define TW_NAME tw_conv_dot_scaled
#define TW_X uint8_t
#define TW_ZERO uint8_t
#endif

#define TW_Y float
#define TW_FLOATS 1
#include "conv_dot_blocks.h"

/* One value for all filters, none, or one each; those that fill up a block have 0. */
static void spread(float *restrict to, const float *restrict values, int32_t given, int32_t wanted, int32_t filters) {
  const float value = given ? values[0] : 0.0f;
  if (given > 1) memcpy(to, values, (size_t)wanted * sizeof *to);
  for (int32_t i = given > 1 ? wanted : 0; i < filters; i++) to[i] = i < wanted ? value : 0.0f;
}

static void multiply_sums(int32_t *restrict to, const int32_t *restrict sums, int32_t factor, int32_t filters) {
  for (int32_t i = 0; i < filters; i++) to[i] = factor * sums[i];
}

void TW_NAME(const tw_conv_dot_scaled_params *params, const TW_X *x, const int8_t *w, const int32_t *sums,
             const float *scale, const TW_ZERO *zero, const float *row_scale, const float *bias, float *y, void *scratch) {
  const tw_conv_dot_scaled_params *const p = params;
  const int32_t filters = p->filters, wanted = p->dot.conv.out_channels;
  int32_t *const start = scratch;
  float *const scales = (float *)(start + filters), *const biases = scales + filters;
  const int32_t raised = TW_IS_UNSIGNED(TW_X) ? 128 : 0, one_zero = p->is_row_zero ? 0 : zero[0];
  multiply_sums(start, sums, raised - one_zero, filters);
  spread(scales, scale, p->scales, wanted, filters);
  spread(biases, bias, p->biases, wanted, filters);
  const int is_bounded = p->activation.kind == TW_CLAMP;
  const tw_floats floats = {start, sums, scales, biases, p->is_row_zero ? zero : NULL, row_scale, p->is_row_scale,
                            is_bounded ? p->activation.alpha : -INFINITY, is_bounded ? p->activation.beta : INFINITY};
  const block all = {w, start, NULL, NULL, NULL, NULL, 0, &floats};
  tw_conv_dot_params dot = p->dot;
  dot.conv.x_zero = one_zero;
  convolve(&dot, (const int8_t *)x, &all, NULL, y, biases + filters);
}
