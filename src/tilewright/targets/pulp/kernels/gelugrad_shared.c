/* y = a * (1 + erf(b / sqrt(2))) / 2 + a * b * e^(-b^2 / 2) / sqrt(2 * pi), broadcast; all cores together */
#include "functions_f32.h"
#include "shared_binary.h"

static inline float tw_slope(float x) {
  const float square = x * x;
  const float bell = square > 160.0f ? 0.0f : tw_exp(-0.5f * square);
  return 0.5f + 0.5f * tw_erf(x * 0.70710678f) + 0.39894228f * x * bell;
}

TW_SHARED_BINARY(a * tw_slope(b))
