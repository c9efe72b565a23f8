/* Functions of floats in single precision, short enough for a core's own instruction cache and without a division,
 * for which all cores share one unit. Errors are below 1e-6 of the result; where a product with x goes to 0, far on the
 * negative side, below 1e-8 of x. */
#ifndef TW_FUNCTIONS_F32_H
#define TW_FUNCTIONS_F32_H

#include <math.h>

#include "fast_exp.h"
#include "fast_gelu.h"

/* 1 / x of a positive x below 2^125: a guess from the exponent, wrong by an eighth, and three times the square of what
 * it is wrong by. */
static inline float tw_reciprocal(float x) {
  tw_float_bits bits;
  bits.value = x;
  bits.bits = 0x7ef311c7u - bits.bits;
  float guess = bits.value;
  guess = guess * (2.0f - x * guess);
  guess = guess * (2.0f - x * guess);
  return guess + guess * (1.0f - x * guess);
}

/* 1 / (1 + e^-x); below -80 it is no longer told from e^-80. */
static inline float tw_sigmoid(float x) { return tw_reciprocal(1.0f + tw_exp(x < -80.0f ? 80.0f : -x)); }

/* Near 0, where 1 - 2 / (e^2x + 1) has lost its digits, x times a polynomial of its square. */
static inline float tw_tanh(float x) {
  const float size = fabsf(x), square = x * x;
  if (size < 0.625f) {
    return x * (0.999999996f + square * (-0.333332606f + square * (0.133311285f + square * (-0.0537211239f +
           square * (0.0205911303f + square * -0.00566011999f)))));
  }
  return copysignf(1.0f - 2.0f * tw_reciprocal(1.0f + tw_exp(size > 20.0f ? 40.0f : 2.0f * size)), x);
}

/* The same for the error function; 1 - erf(x) is e to the power of a polynomial. */
static inline float tw_erf(float x) {
  const float square = x * x;
  if (fabsf(x) < 0.925f) {
    return x * (1.12837914f + square * (-0.376124461f + square * (0.112813219f + square * (-0.0267488937f +
           square * (0.00496753892f + square * -0.000586220942f)))));
  }
  const float size = fabsf(x) > 4.0f ? 4.0f : fabsf(x);
  const float power = 0.000177488574f + size * (1.12774959f + size * (0.637059708f + size * (0.1040374f + size *
                      (-0.0222771069f + size * (0.00305561261f + size * -0.000197182246f)))));
  return copysignf(1.0f - tw_exp(-power), x);
}

#endif
