/* y = (x - zero) * scale */
#include "dequantizelinear.h"

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_dequantizelinear_i8
#define TW_X int8_t
#define TW_ZERO int8_t
#endif

/* The difference of two 32-bit numbers may need 33 bits. */
static inline float centred(TW_X x, TW_ZERO zero) {
  return sizeof(TW_X) < 4 ? (float)((int32_t)x - (int32_t)zero) : (float)((int64_t)x - (int64_t)zero);
}

void TW_NAME(const tw_dequantizelinear_params *params, const TW_X *x, const float *scale, const TW_ZERO *zero,
             float *y) {
  const int32_t outer = params->outer, channels = params->channels, inner = params->inner;
  for (int32_t o = 0; o < outer; o++) {
    for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
      const float factor = scale[c];
      const TW_ZERO offset = zero[c];
      TW_INDEPENDENT
      for (int32_t i = 0; i < inner; i++) y[i] = centred(x[i], offset) * factor;
    }
  }
}
