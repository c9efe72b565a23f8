/* e = min(|x|, -b) + b, y = x * ((one + sign(x) * (one - e * e)) >> 1); all cores together */
#include "igelu.h"

#ifndef TW_NAME
#define TW_NAME tw_igelu_shared_i8
#define TW_X int8_t
#endif

#include "cluster.h"
#include "four_elements.h"
#include "int32.h"
#include "tw.h"

static inline int32_t gelu(int32_t x, int32_t b, int32_t one) {
  const int32_t sign = (x > 0) - (x < 0);
  const int32_t e = tw_add32(tw_min(tw_mul32(x, sign), -b), b);
  const int32_t part = tw_mul32(sign, tw_sub32(one, tw_mul32(e, e)));
  return tw_mul32(x, tw_add32(one, part) >> 1);
}

void TW_NAME(const tw_igelu_params *params, const TW_X *x, int32_t *y) {
  const tw_share share = tw_share_of(params->count);
  const int32_t b = params->b, one = params->one;
#define GELU(x) gelu(x, b, one)
  TW_FOUR_ELEMENTS(GELU, x, y, share);
}
