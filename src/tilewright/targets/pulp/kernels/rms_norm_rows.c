/* y = x / sqrt(mean of x * x + epsilon) * scale, row by row; all cores together */
#include <math.h>

#include "row_norm.h"

#ifndef TW_NAME
#define TW_NAME tw_rms_norm_rows
#endif

#include "cluster.h"
#include "rows_f32.h"

void TW_NAME(const tw_row_norm_params *params, const float *x, const float *scale, float *y) {
  const int32_t length = params->length;
  const tw_share share = tw_share_of(params->rows);
  for (int32_t row = share.first; row < share.end; row++) {
    const float *const from = x + row * length;
    const float mean_square = tw_row_squares(from, length, 0.0f) / (float)length;
    tw_scale_row(from, length, 0.0f, 1.0f / sqrtf(mean_square + params->epsilon), scale, 0, y + row * length);
  }
}
