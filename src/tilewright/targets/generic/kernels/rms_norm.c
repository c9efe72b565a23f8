/* y = x / sqrt(mean of x * x + epsilon) * scale, row by row */
#include <math.h>

#include "row_norm.h"
#include "sums.h"

#ifndef TW_NAME
#define TW_NAME tw_rms_norm
#endif

void TW_NAME(const tw_row_norm_params *params, const float *x, const float *scale, float *y) {
  const int32_t length = params->length;
  for (int32_t row = 0; row < params->rows; row++) {
    const float mean_square = tw_sum_of_squares(x, length, 0.0f) / (float)length;
    tw_scale_row(x, length, 0.0f, 1.0f / sqrtf(mean_square + params->epsilon), scale, 0, y);
    x += length;
    y += length;
  }
}
