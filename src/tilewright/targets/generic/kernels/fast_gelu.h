/* GELU without a branch and without a call. Errors are below 1e-6 of the result, or far on the negative side, where it
 * goes to 0, below 1e-8 of x. */
#ifndef TW_FAST_GELU_H
#define TW_FAST_GELU_H

#include <math.h>

#include "fast_exp.h"

/* x / 2 * (1 + erf(x / sqrt(2))). With the polynomial's power there is no cancellation on either side of 0. */
static inline float tw_gelu(float x) {
  const float size = fabsf(x) > 7.0f ? 7.0f : fabsf(x);
  const float high = -1.29778461e-05f + size * (-0.000180736981f + size * (4.56091394e-05f + size *
                     (-5.34921575e-06f + size * 2.52578029e-07f)));
  const float power = size * (-0.797884765f + size * (-0.318306601f + size * (-0.0363527056f + size *
                      (0.00482281766f + size * high))));
  const float beyond = 0.5f * copysignf(size, x) * tw_exp(power); /* x times what a normal distribution has there */
  return x > 0.0f ? x - beyond : beyond;
}

#endif
