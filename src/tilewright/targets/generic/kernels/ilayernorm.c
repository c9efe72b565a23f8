/* y = ((x - mean) * w / sigma + b) >> shift, wrapped to 8 bits; sigma = root(mean of squares + 1) */
#include "int32.h"
#include "integernorm.h"

#ifndef TW_NAME
#define TW_NAME tw_ilayernorm_i8
#define TW_X int8_t
#endif

void TW_NAME(const tw_integernorm_params *params, const TW_X *x, const int32_t *w, const int32_t *b, int8_t *y) {
  const int32_t rows = params->rows, length = params->length, shift = params->shift;
  for (int32_t row = 0; row < rows; row++, x += length, y += length) {
    int64_t sum = 0;
    for (int32_t i = 0; i < length; i++) sum += x[i];
    const int32_t mean = (int32_t)(sum / length);
    uint64_t squares = 0;
    for (int32_t i = 0; i < length; i++) {
      const int64_t centred = tw_sub32(x[i], mean);
      squares += (uint64_t)(centred * centred);
    }
    const int32_t sigma = (int32_t)tw_root(squares / (uint64_t)length + 1);
    for (int32_t i = 0; i < length; i++) {
      const int32_t scaled = tw_mul32(tw_sub32(x[i], mean), w[i]) / sigma;
      y[i] = (int8_t)(tw_add32(scaled, b[i]) >> shift);
    }
  }
}
