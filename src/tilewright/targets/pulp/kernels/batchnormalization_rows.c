/* y = x * scale + b with a value of each channel, channels last; all cores together, each with rows of its own. Four
 * channels at a time, whose factors and summands stay in registers. */
#include "batchnormalization.h"

#ifndef TW_NAME
#define TW_NAME tw_batchnormalization_rows
#endif

#include "cluster.h"

static void four_channels(const float *x, int32_t rows, int32_t step, const float *scale, const float *b, float *y) {
  const float s0 = scale[0], s1 = scale[1], s2 = scale[2], s3 = scale[3];
  const float b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
  for (; rows > 0; rows--, x += step, y += step) {
    const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    y[0] = x0 * s0 + b0, y[1] = x1 * s1 + b1, y[2] = x2 * s2 + b2, y[3] = x3 * s3 + b3;
  }
}

static void one_channel(const float *x, int32_t rows, int32_t step, float scale, float b, float *y) {
  for (; rows > 0; rows--, x += step, y += step) *y = *x * scale + b;
}

/* Without mean and variance. */
void TW_NAME(const tw_batchnormalization_params *params, const float *x, const float *scale, const float *b,
             const float *mean, const float *var, float *y) {
  const int32_t channels = params->channels;
  const tw_share share = tw_share_of(params->batch);
  const int32_t rows = share.end - share.first, first = share.first * channels;
  (void)mean, (void)var;
  int32_t c = 0;
  for (; c + 4 <= channels; c += 4) four_channels(x + first + c, rows, channels, scale + c, b + c, y + first + c);
  for (; c < channels; c++) one_channel(x + first + c, rows, channels, scale[c], b[c], y + first + c);
}
