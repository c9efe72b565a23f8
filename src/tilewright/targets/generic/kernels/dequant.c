/* y = (x - zero_point) * scale */
#include "dequant.h"

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_dequant_i8
#define TW_X int8_t
#endif

void TW_NAME(const tw_dequant_params *params, const TW_X *x, float *y) {
  const int32_t count = params->count, zero_point = params->zero_point;
  const float scale = params->scale;
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) y[i] = (float)((int64_t)x[i] - zero_point) * scale;
}
