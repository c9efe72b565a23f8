/* y = (x - mean) / sqrt(var + epsilon) * scale + b for each channel; without mean and var y = x * scale + b. */
#include "batchnormalization.h"

#include <math.h>

#ifndef TW_NAME
#define TW_NAME tw_batchnormalization
#endif

void TW_NAME(const tw_batchnormalization_params *params, const float *x, const float *scale, const float *b,
             const float *mean, const float *var, float *y) {
  const int32_t channels = params->channels, elements = params->elements;
  for (int32_t plane = 0; plane < params->batch * channels; plane++) {
    const int32_t c = plane % channels;
    const float factor = var ? scale[c] / sqrtf(var[c] + params->epsilon) : scale[c];
    const float summand = mean ? b[c] - mean[c] * factor : b[c];
    const float *from = x + plane * elements;
    float *to = y + plane * elements;
    TW_INDEPENDENT
    for (int32_t i = 0; i < elements; i++) to[i] = from[i] * factor + summand;
  }
}
