/* y = saturate(round(x / scale) + zero), ties to even; what is not a number gives the lowest value */
#include "quantizelinear.h"

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_quantizelinear_i8
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

/* Floats from 2^23 on have no fraction: adding 1.5 * 2^23 rounds to a whole number, in the processor's default mode
 * ties to even. Exact below 2^22, and unlike a call of rintf compilers vectorise it. */
static inline int32_t round_half_even(float x) {
  const float no_fraction = 12582912.0f;
  return (int32_t)((x + no_fraction) - no_fraction);
}

void TW_NAME(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const int32_t outer = params->outer, channels = params->channels, inner = params->inner;
  for (int32_t o = 0; o < outer; o++) {
    for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
      const float divisor = scale[c];
      const int32_t offset = zero[c];
      const float low = (float)(params->low - offset), high = (float)(params->high - offset);
      TW_INDEPENDENT
      for (int32_t i = 0; i < inner; i++) {
        const float value = x[i] / divisor;
        const float clamped = value >= low ? value <= high ? value : high : low;
        y[i] = (TW_Y)(round_half_even(clamped) + offset);
      }
    }
  }
}
