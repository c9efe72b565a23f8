/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with statistics per image and group of channels */
#include "group_norm.h"

#include <math.h>

#include "row_norm.h"
#include "sums.h"

#ifndef TW_NAME
#define TW_NAME tw_group_norm
#endif

void TW_NAME(const tw_group_norm_params *params, const float *x, const float *scale, const float *bias, float *y) {
  const int32_t groups = params->groups, channels = params->channels, plane = params->plane;
  const int32_t length = channels * plane;
  for (int32_t row = 0; row < params->batch * groups; row++) {
    const int32_t first = row % groups * channels;
    float mean = tw_sum(x, length) / (float)length;
    float variance = tw_sum_of_squares(x, length, mean) / (float)length;
    const float *from = x;
    if (tw_is_narrow(mean, variance)) {
      mean = tw_centre_row(x, length, mean, y);
      variance -= mean * mean;
      from = y;
    }
    const float factor = 1.0f / sqrtf(variance + params->epsilon);
    for (int32_t channel = first; channel < first + channels; channel++) {
      const float slope = factor * scale[channel], shift = bias[channel];
      for (int32_t i = 0; i < plane; i++) y[i] = (from[i] - mean) * slope + shift;
      from += plane;
      y += plane;
    }
    x += length;
  }
}
