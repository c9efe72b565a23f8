/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias: a group for each row; statistics are optional results */
#ifndef TW_NAME
#define TW_NAME tw_gpu_layer_norm
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

TW_GPU void group(const tw_row_norm_params *params, const TW_X *x, const float *scale, const float *b, TW_Y *y,
                  float *mean, float *invstddev) {
  const int32_t length = params->length, row = TW_GROUP_X;
  x += row * length;
  y += row * length;
  const tw_statistics found = tw_row_statistics(x, length);
  const float factor = 1.0f / sqrtf(found.variance + params->epsilon);
  TW_ITEMS(t) {
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) {
      const float apart = TW_X_LOAD(x[i]) - found.mean - found.rest;
      y[i] = TW_Y_STORE(apart * factor * (scale ? scale[i] : 1.0f) + (b ? b[i] : 0.0f));
    }
    if (t == 0 && mean) mean[row] = found.mean + found.rest;
    if (t == 0 && invstddev) invstddev[row] = factor;
  }
}

TW_GPU_KERNEL(tw_row_norm_params,
              (const TW_X *x, const float *scale, const float *b, TW_Y *y, float *mean, float *invstddev),
              (x, scale, b, y, mean, invstddev))
