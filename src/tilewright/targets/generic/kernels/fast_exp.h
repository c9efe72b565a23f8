/* e^x in a form that compilers vectorise; the relative error is below 3e-7. Results below 2^-125 are 0. */
#ifndef TW_FAST_EXP_H
#define TW_FAST_EXP_H

#include <math.h>

#include "float_bits.h"
#include "nan.h"

/* e^x = 2^n * e^r with the integer n nearest to x / ln 2, so that r is small enough for a short Taylor series. */
static inline float tw_exp(float x) {
  tw_float_bits shifted, power;
  shifted.value = x * 1.44269504f + 12582912.0f; /* adding 1.5 * 2^23 leaves n in the lowest bits */
  const float n = shifted.value - 12582912.0f;
  const float r = x - n * 0.693145752f - n * 1.42860677e-6f; /* ln 2 in two parts: the first times n is exact */
  const float series =
      1.0f + r * (1.0f + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720))))));
  power.bits = (shifted.bits + 126u) << 23; /* 2^(n - 1): 2^n itself may be too large although e^x is not */
  const float result = power.value * series * 2.0f;
  return tw_is_below(x, -86.9f) ? 0.0f : x > 88.7228f ? INFINITY : result;
}

#endif
