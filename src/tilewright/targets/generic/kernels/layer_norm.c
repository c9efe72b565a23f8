/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias, row by row; the statistics are optional results */
#include <math.h>

#include "row_norm.h"
#include "sums.h"

#ifndef TW_NAME
#define TW_NAME tw_layer_norm
#endif

void TW_NAME(const tw_row_norm_params *params, const float *x, const float *scale, const float *b, float *y,
             float *mean, float *invstddev) {
  const int32_t length = params->length;
  for (int32_t row = 0; row < params->rows; row++) {
    const float centre = tw_sum(x, length) / (float)length;
    float variance = tw_sum_of_squares(x, length, centre) / (float)length, rest = 0.0f;
    const int is_narrow = tw_is_narrow(centre, variance);
    if (is_narrow) {
      rest = tw_centre_row(x, length, centre, y);
      variance -= rest * rest;
    }
    const float factor = 1.0f / sqrtf(variance + params->epsilon);
    tw_scale_row(is_narrow ? y : x, length, is_narrow ? rest : centre, factor, scale, b, y);
    if (mean) mean[row] = centre + rest;
    if (invstddev) invstddev[row] = factor;
    x += length;
    y += length;
  }
}
