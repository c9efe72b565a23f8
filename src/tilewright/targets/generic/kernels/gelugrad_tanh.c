/* y = a times the slope of b / 2 * (1 + tanh(sqrt(2 / pi) * (b + 0.044715 * b^3))), broadcast */
#include <math.h>

#include "binary_kernel.h"

static inline float tw_slope(float x) {
  const float curve = tanhf(0.79788456f * (x + 0.044715f * x * x * x));
  return 0.5f + 0.5f * curve + x * (1.0f - curve * curve) * (0.39894228f + 0.05351614f * x * x);
}

TW_BINARY(a * tw_slope(b))
