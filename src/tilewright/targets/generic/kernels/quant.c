/* y = clamp(round(x / scale) + zero_point, low, high); halves round away from zero */
#include "quant.h"

#include <math.h>

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_quant_i8
#define TW_Y int8_t
#endif

void TW_NAME(const tw_quant_params *params, const float *x, TW_Y *y) {
  const int32_t count = params->count;
  const float scale = params->scale;
  const double zero_point = params->zero_point, low = params->low, high = params->high;
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) {
    const double value = (double)roundf(x[i] / scale) + zero_point;
    y[i] = (TW_Y)(value > low ? value < high ? value : high : low);
  }
}
