/* y = x / (bias + alpha * sum of squares of the channels around it) ^ beta */
#include "lrn.h"

#include <math.h>

#ifndef TW_NAME
#define TW_NAME tw_lrn
#endif

void TW_NAME(const tw_lrn_params *params, const float *x, float *y) {
  const int32_t channels = params->channels, plane = params->plane, before = (params->size - 1) / 2;
  const float alpha = params->alpha, beta = params->beta, bias = params->bias;
  for (int32_t image = 0; image < params->batch; image++) {
    for (int32_t channel = 0; channel < channels; channel++) {
      const int32_t first = tw_max(channel - before, 0);
      const int32_t end = tw_min(channel - before + params->size, channels);
      for (int32_t i = 0; i < plane; i++) {
        float squares = 0.0f;
        for (int32_t c = first; c < end; c++) squares += x[c * plane + i] * x[c * plane + i];
        y[channel * plane + i] = x[channel * plane + i] / powf(bias + alpha * squares, beta);
      }
    }
    x += channels * plane;
    y += channels * plane;
  }
}
