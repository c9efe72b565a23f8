/* y = (x * w / sigma) >> shift, clamped to 8 bits; sigma = root(mean of squares + 1) */
#include "int32.h"
#include "integernorm.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_irmsnorm_i8
#define TW_X int8_t
#endif

void TW_NAME(const tw_integernorm_params *params, const TW_X *x, const int32_t *w, int8_t *y) {
  const int32_t rows = params->rows, length = params->length, shift = params->shift;
  for (int32_t row = 0; row < rows; row++, x += length, y += length) {
    uint64_t squares = 0;
    for (int32_t i = 0; i < length; i++) squares += (uint64_t)((int64_t)x[i] * x[i]);
    const int32_t sigma = (int32_t)tw_root(squares / (uint64_t)length + 1);
    for (int32_t i = 0; i < length; i++) y[i] = (int8_t)tw_clamp((tw_mul32(x[i], w[i]) / sigma) >> shift, -128, 127);
  }
}
