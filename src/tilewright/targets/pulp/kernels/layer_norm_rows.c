/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias, row by row; all cores together */
#include <math.h>

#include "row_norm.h"

#ifndef TW_NAME
#define TW_NAME tw_layer_norm_rows
#endif

#include "cluster.h"
#include "rows_f32.h"

void TW_NAME(const tw_row_norm_params *params, const float *x, const float *scale, const float *b, float *y,
             float *mean, float *invstddev) {
  const int32_t length = params->length;
  const float part = 1.0f / (float)length;
  const tw_share share = tw_share_of(params->rows);
  for (int32_t row = share.first; row < share.end; row++) {
    const float *const from = x + row * length;
    const float centre = tw_row_sum(from, length) * part;
    float variance = tw_row_squares(from, length, centre) * part, rest = 0.0f;
    const int is_narrow = tw_is_narrow(centre, variance);
    if (is_narrow) {
      rest = tw_centre_row(from, length, centre, y + row * length);
      variance -= rest * rest;
    }
    const float factor = 1.0f / sqrtf(variance + params->epsilon);
    tw_scale_row(is_narrow ? y + row * length : from, length, is_narrow ? rest : centre, factor, scale, b,
                 y + row * length);
    if (mean) mean[row] = centre + rest;
    if (invstddev) invstddev[row] = factor;
  }
}
