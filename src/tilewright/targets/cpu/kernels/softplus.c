/* y = log(1 + e^x) = max(x, 0) + log(1 + u) with u = e^-|x|, by the series of the inverse hyperbolic tangent */
#include <math.h>

#include "fast_exp.h"
#include "unary_kernel.h"

static inline float softplus(float x) {
  const float u = tw_exp(-fabsf(x)), s = u / (2.0f + u), square = s * s; /* s is at most 1/3 */
  const float series = 1.0f / 3 + square * (1.0f / 5 + square * (1.0f / 7 + square * (1.0f / 9 +
                       square * (1.0f / 11 + square * (1.0f / 13 + square * (1.0f / 15))))));
  return (x > 0.0f ? x : 0.0f) + 2.0f * (s + s * square * series);
}

TW_UNARY(softplus((float)x))
