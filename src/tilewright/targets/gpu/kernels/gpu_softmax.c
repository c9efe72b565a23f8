/* y = exp(x) / sum of exp(x) along an axis, or its logarithm: a group for each row */
#ifndef TW_NAME
#define TW_NAME tw_gpu_softmax
#define TW_X float
#define TW_Y float
#endif

#include <math.h>

#include "fast_exp.h"
#include "gpu_rows.h"
#include "softmax.h"

static inline tw_grid grid(const tw_softmax_params *params) {
  const tw_grid groups = {params->length > 0 ? params->outer * params->inner : 0, 1, 1};
  return groups;
}

TW_GPU void group(const tw_softmax_params *params, const TW_X *x, TW_Y *y) {
  const int32_t length = params->length, step = params->inner;
  const int32_t start = TW_GROUP_X / step * length * step + TW_GROUP_X % step;
  x += start;
  y += start;
  TW_ITEMS(t) {
    float largest = TW_X_LOAD(x[0]);
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) {
      const float value = TW_X_LOAD(x[i * step]);
      largest = value > largest ? value : largest;
    }
    tw_found[t] = largest;
  }
  const float largest = tw_group_largest();
  TW_ITEMS(t) {
    float sum = 0.0f;
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) sum += tw_exp(TW_X_LOAD(x[i * step]) - largest);
    tw_found[t] = sum;
  }
  const float sum = tw_group_sum(), scale = 1.0f / sum, shift = params->logarithm ? largest + logf(sum) : 0.0f;
  TW_ITEMS(t) {
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) {
      const float value = TW_X_LOAD(x[i * step]);
      y[i * step] = TW_Y_STORE(params->logarithm ? value - shift : tw_exp(value - largest) * scale);
    }
  }
}

TW_GPU_KERNEL(tw_softmax_params, (const TW_X *x, TW_Y *y), (x, y))
