/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with statistics per image and group of channels */
#include <math.h>

#include "gpu_rows.h"
#include "group_norm.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_group_norm
#endif

static inline tw_grid grid(const tw_group_norm_params *params) {
  const tw_grid groups = {params->batch * params->groups, 1, 1};
  return groups;
}

TW_GPU void group(const tw_group_norm_params *params, const float *x, const float *scale, const float *bias, float *y) {
  const int32_t plane = params->plane, length = params->channels * plane;
  const int32_t first = TW_GROUP_X % params->groups * params->channels;
  x += TW_GROUP_X * length;
  y += TW_GROUP_X * length;
  const tw_statistics found = tw_row_statistics(x, length);
  const float factor = 1.0f / sqrtf(found.variance + params->epsilon);
  TW_ITEMS(t) {
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) {
      const int32_t channel = first + i / plane;
      y[i] = (x[i] - found.mean - found.rest) * factor * scale[channel] + bias[channel];
    }
  }
}

TW_GPU_KERNEL(tw_group_norm_params, (const float *x, const float *scale, const float *bias, float *y),
              (x, scale, bias, y))
