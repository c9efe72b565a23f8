/* y = max(x, 0) */
#include "tw.h"
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_relu_f32
#define TW_X float
#define TW_Y float
#endif

void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {
  const int32_t count = params->count;
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) y[i] = x[i] > 0 ? x[i] : 0;
}
