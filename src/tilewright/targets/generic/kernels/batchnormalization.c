/* y = (x - mean) / sqrt(var + epsilon) * scale + b for each channel; without mean and var y = x * scale + b. */
#include "batchnormalization.h"

#include <math.h>

#ifndef TW_NAME
#define TW_NAME tw_batchnormalization
#endif

/* Rows with a value of each channel: y = x * scale + b. */
static void scale_rows(int32_t rows, int32_t channels, const float *x, const float *scale, const float *b, float *y) {
  for (int32_t row = 0; row < rows; row++, x += channels, y += channels) {
    TW_INDEPENDENT
    for (int32_t c = 0; c < channels; c++) y[c] = x[c] * scale[c] + b[c];
  }
}

void TW_NAME(const tw_batchnormalization_params *params, const float *x, const float *scale, const float *b,
             const float *mean, const float *var, float *y) {
  const int32_t channels = params->channels, elements = params->elements;
  if (elements == 1 && !mean) {
    scale_rows(params->batch, channels, x, scale, b, y);
    return;
  }
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
