/* y = x / sqrt(mean of x * x + epsilon) * scale: a group for each row */
#ifndef TW_NAME
#define TW_NAME tw_gpu_rms_norm
#define TW_X float
#define TW_Y float
#endif

#include <math.h>

#include "gpu_rows.h"
#include "row_norm.h"

static inline tw_grid grid(const tw_row_norm_params *params) {
  const tw_grid groups = {params->rows, 1, 1};
  return groups;
}

TW_GPU void group(const tw_row_norm_params *params, const TW_X *x, const float *scale, TW_Y *y) {
  const int32_t length = params->length;
  x += TW_GROUP_X * length;
  y += TW_GROUP_X * length;
  const float factor = 1.0f / sqrtf(tw_row_squares(x, length, 0.0f) / (float)length + params->epsilon);
  TW_ITEMS(t) {
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) {
      y[i] = TW_Y_STORE(TW_X_LOAD(x[i]) * factor * (scale ? scale[i] : 1.0f));
    }
  }
}

TW_GPU_KERNEL(tw_row_norm_params, (const TW_X *x, const float *scale, TW_Y *y), (x, scale, y))
