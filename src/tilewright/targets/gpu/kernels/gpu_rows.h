/* What all items of a group make together of a row of TW_X. */
#ifndef TW_GPU_ROWS_H
#define TW_GPU_ROWS_H

#include "gpu_join.h"
#include "gpu_stored.h"

/* The sum of a row whose elements are `step` apart. */
TW_GPU float tw_row_sum(const TW_X *x, int32_t length, int32_t step) {
  TW_ITEMS(t) {
    float sum = 0.0f;
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) sum += TW_X_LOAD(x[i * step]);
    tw_found[t] = sum;
  }
  return tw_group_sum();
}

/* The sums of differences from a centre, and of their squares. */
TW_GPU float tw_row_rest(const TW_X *x, int32_t length, float centre) {
  TW_ITEMS(t) {
    float sum = 0.0f;
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) sum += TW_X_LOAD(x[i]) - centre;
    tw_found[t] = sum;
  }
  return tw_group_sum();
}

TW_GPU float tw_row_squares(const TW_X *x, int32_t length, float centre) {
  TW_ITEMS(t) {
    float sum = 0.0f;
    for (int32_t i = t; i < length; i += TW_GROUP_SIZE) {
      const float apart = TW_X_LOAD(x[i]) - centre;
      sum += apart * apart;
    }
    tw_found[t] = sum;
  }
  return tw_group_sum();
}

/* Mean and variance of a row: what the rounded mean lacks is found from the differences, as these are small. */
typedef struct {
  float mean, rest, variance;
} tw_statistics;

TW_GPU tw_statistics tw_row_statistics(const TW_X *x, int32_t length) {
  tw_statistics found;
  found.mean = tw_row_sum(x, length, 1) / (float)length;
  found.rest = tw_row_rest(x, length, found.mean) / (float)length;
  found.variance = tw_row_squares(x, length, found.mean) / (float)length - found.rest * found.rest;
  return found;
}

#endif
