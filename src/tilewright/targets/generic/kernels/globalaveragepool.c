/* The mean of each plane. */
#include "global_pool.h"

#ifndef TW_NAME
#define TW_NAME tw_globalaveragepool
#endif

/* Sums that do not wait for each other; floats may not be summed in another order unless the source says so. */
#define TW_LANES 16

static float sum_of(const float *x, int32_t count) {
  float lane[TW_LANES] = {0}, sum = 0.0f;
  int32_t i = 0;
  for (; i + TW_LANES <= count; i += TW_LANES) {
    for (int32_t j = 0; j < TW_LANES; j++) lane[j] += x[i + j];
  }
  for (; i < count; i++) sum += x[i];
  for (int32_t j = 0; j < TW_LANES; j++) sum += lane[j];
  return sum;
}

void TW_NAME(const tw_global_pool_params *params, const float *x, float *y) {
  const int32_t planes = params->planes, elements = params->elements;
  for (int32_t i = 0; i < planes; i++) y[i] = sum_of(x + i * elements, elements) / (float)elements;
}
