/* y[o, j, i] = sum over t of weight[j, t] * x[o, taps[j, t], i] */
#include "resize.h"

#ifndef TW_NAME
#define TW_NAME tw_resize
#endif

static float weighted_sum(const float *x, const int32_t *taps, const float *weight, int32_t count) {
  float sum = 0.0f;
  for (int32_t tap = 0; tap < count; tap++) sum += weight[tap] * x[taps[tap]];
  return sum;
}

static void add_row(const float *x, float weight, int32_t length, int32_t is_first, float *y) {
  if (is_first) {
    for (int32_t i = 0; i < length; i++) y[i] = weight * x[i];
  } else {
    for (int32_t i = 0; i < length; i++) y[i] += weight * x[i];
  }
}

void TW_NAME(const tw_resize_params *params, const float *x, const int32_t *taps, const float *weight, float *y) {
  const int32_t inner = params->inner, count = params->count, per_result = params->taps;
  for (int32_t outer = 0; outer < params->outer; outer++) {
    for (int32_t j = 0; j < count; j++) {
      const int32_t *tap = taps + j * per_result;
      const float *share = weight + j * per_result;
      if (inner == 1) {
        y[j] = weighted_sum(x, tap, share, per_result);
        continue;
      }
      for (int32_t t = 0; t < per_result; t++) add_row(x + tap[t] * inner, share[t], inner, t == 0, y + j * inner);
    }
    x += params->length * inner;
    y += count * inner;
  }
}
