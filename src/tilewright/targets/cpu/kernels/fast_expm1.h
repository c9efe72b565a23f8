/* e^x - 1 of floats that are not above 0, in a form that compilers vectorise; the relative error is below 4e-7. */
#ifndef TW_FAST_EXPM1_H
#define TW_FAST_EXPM1_H

#include "fast_exp.h"

/* e^x = 2^n * e^r with |r| < 0.35; 2^n (e^r - 1) + (2^n - 1) loses nothing near 0, where n is 0. NaN stays NaN. */
static inline float tw_expm1(float x) {
  tw_float_bits shifted, power;
  const float within = x < -30.0f ? -30.0f : x; /* the result is -1 below */
  shifted.value = within * 1.44269504f + 12582912.0f;
  const float n = shifted.value - 12582912.0f;
  const float r = within - n * 0.693145752f - n * 1.42860677e-6f;
  const float less = r + r * r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720)))));
  power.bits = (shifted.bits + 127u) << 23;
  return power.value * less + (power.value - 1.0f);
}

/* alpha * (e^x - 1) where x is negative, else x. */
static inline float tw_elu(float x, float alpha) { return x < 0.0f ? alpha * tw_expm1(x < 0.0f ? x : 0.0f) : x; }

#endif
