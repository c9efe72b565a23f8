/* GELU without a branch and without a call. Errors are below 1e-6 of the result,
 * or far on the negative side, where it goes to 0, below 1e-8 of x. */
#ifndef TW_FAST_GELU_H
#define TW_FAST_GELU_H

#include <math.h>

#include "fast_exp.h"

/* 2^x of what is between -100 and 0. */
static inline float tw_small_power(float x) {
  tw_float_bits shifted, series;
  shifted.value = x + 12582912.0f;
  const float r = x - (shifted.value - 12582912.0f);
  series.value = 1.0f + r * (0.693147182f + r * (0.240226477f + r * (0.0555033237f + r * (0.00961843692f + r *
                 (0.0013398875f + r * 0.000153533605f)))));
  series.bits += shifted.bits << 23; /* times 2^n */
  return series.value;
}

/* x / 2 * (1 + erf(x / sqrt(2))). With the polynomial's power of 2 there is no cancellation on either side of 0. */
static inline float tw_gelu(float x) {
  const float size = fabsf(x) > 7.0f ? 7.0f : fabsf(x);
  const float high = -1.87230742e-05f + size * (-0.000260748346f + size * (6.58000792e-05f + size *
                     (-7.71728704e-06f + size * 3.6439307e-07f)));
  const float power = size * (-1.15110439f + size * (-0.459219355f + size * (-0.0524458681f + size *
                      (0.00695785512f + size * high))));
  const float beyond = 0.5f * copysignf(size, x) * tw_small_power(power); /* x times what a normal distribution has there */
  return x > 0.0f ? x - beyond : beyond;
}

#endif
