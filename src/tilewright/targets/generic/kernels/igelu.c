/* e = min(|x|, -b) + b, y = x * ((one + sign(x) * (one - e * e)) >> 1) */
#include "igelu.h"

#include "int32.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_igelu_i8
#define TW_X int8_t
#endif

void TW_NAME(const tw_igelu_params *params, const TW_X *x, int32_t *y) {
  const int32_t count = params->count, b = params->b, one = params->one;
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) {
    const int32_t value = x[i], sign = (value > 0) - (value < 0);
    const int32_t e = tw_add32(tw_min(tw_mul32(value, sign), -b), b);
    const int32_t part = tw_mul32(sign, tw_sub32(one, tw_mul32(e, e)));
    y[i] = tw_mul32(value, tw_add32(one, part) >> 1);
  }
}
