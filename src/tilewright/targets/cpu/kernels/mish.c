/* y = x * tanh(log(1 + e^x)): with p = e^x * (e^x + 2) that is x * p / (p + 2), and x itself where p is large */
#include "fast_exp.h"
#include "unary_kernel.h"

static inline float mish(float x) {
  const float power = tw_exp(x > 20.0f ? 20.0f : x), product = power * (power + 2.0f);
  return x * (product / (product + 2.0f));
}

TW_UNARY(mish((float)x))
