/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with statistics per image and group of channels */
#ifndef TW_NAME
#define TW_NAME tw_gpu_group_norm
#define TW_X float
#define TW_Y float
#endif

#include <math.h>

#include "gpu_rows.h"
#include "group_norm.h"

static inline tw_grid grid(const tw_group_norm_params *params) {
  const tw_grid groups = {params->batch * params->groups, 1, 1};
  return groups;
}

TW_GPU void group(const tw_group_norm_params *params, const TW_X *x, const float *scale, const float *bias, TW_Y *y) {
  const int32_t plane = params->plane, length = params->channels * plane;
  const int32_t first = TW_GROUP_X % params->groups * params->channels;
  x += TW_GROUP_X * length;
  y += TW_GROUP_X * length;
  const tw_statistics found = tw_row_statistics(x, length);
  const float factor = 1.0f / sqrtf(found.variance + params->epsilon);
  TW_ITEMS(t) {
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) {
      const int32_t channel = first + i / plane;
      const float apart = TW_X_LOAD(x[i]) - found.mean - found.rest;
      y[i] = TW_Y_STORE(apart * factor * scale[channel] + bias[channel]);
    }
  }
}

TW_GPU_KERNEL(tw_group_norm_params, (const TW_X *x, const float *scale, const float *bias, TW_Y *y),
              (x, scale, bias, y))
