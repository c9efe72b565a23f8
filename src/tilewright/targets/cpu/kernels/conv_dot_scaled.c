/* As conv_dot.c; totals become floats. The zero point of X is known when it is called: what it adds to totals is that many
 * times the sum of the weights, and padding has its value. */
#include "conv_dot_scaled.h"

#ifndef TW_NAME
#define TW_NAME tw_conv_dot_scaled
#define TW_X uint8_t
#define TW_ZERO uint8_t
#endif

#define TW_Y float
#define TW_FLOATS 1
#include "conv_dot_blocks.h"

static void spread(float *to, const float *values, int32_t count, int32_t given, int32_t filters) {
  for (int32_t i = 0; i < filters; i++) to[i] = i < count ? values[given > 1 ? i : 0] : 0.0f;
}

void TW_NAME(const tw_conv_dot_scaled_params *params, const TW_X *x, const int8_t *w, const int32_t *sums,
             const float *scale, const TW_ZERO *zero, const float *row_scale, const float *bias, float *y, void *scratch) {
  const tw_conv_dot_scaled_params *const p = params;
  const int32_t filters = p->filters, wanted = p->dot.conv.out_channels;
  int32_t *const start = scratch;
  float *const scales = (float *)(start + filters), *const biases = scales + filters;
  const int32_t raised = TW_IS_UNSIGNED(TW_X) ? 128 : 0, one_zero = p->is_row_zero ? 0 : zero[0];
  for (int32_t i = 0; i < filters; i++) start[i] = (raised - one_zero) * sums[i];
  spread(scales, scale, wanted, p->scales, filters);
  spread(biases, bias, bias ? wanted : 0, p->biases, filters);
  const tw_floats floats = {
      start, sums, scales, biases, p->is_row_zero ? zero : NULL, row_scale, p->is_row_scale, tw_bounds_of(&p->activation)};
  const block all = {w, start, NULL, NULL, NULL, NULL, 0, &floats};
  tw_conv_dot_params dot = p->dot;
  dot.conv.x_zero = one_zero;
  convolve(&dot, (const int8_t *)x, &all, NULL, y, biases + filters);
}
