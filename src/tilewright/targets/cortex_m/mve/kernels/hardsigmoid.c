/* y = clamp(alpha * x + beta, 0, 1); NaN stays NaN, which clang's vectors take for smaller than zero */
#include "unary_kernel.h"

#include "nan.h"

static inline float hard_sigmoid(float line) {
  if (TW_IS_NAN(line)) return line;
  return tw_unit(line);
}

TW_UNARY(hard_sigmoid(alpha * x + beta))
