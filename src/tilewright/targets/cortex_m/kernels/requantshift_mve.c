/* y = clamp(round((x * mul + add) / 2^shift)), per tensor or per channel */
#include "requantshift.h"

#ifndef TW_NAME
#define TW_NAME tw_requantshift_mve
#define TW_X int32_t
#define TW_Y int8_t
#endif

#include "elements_mve.h"

/* Factors and summands of one channel, or of as many as there are results. */
TW_ALWAYS void one_row(const tw_requant *r, int32_t n, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y,
                       int are_many) {
  const tw_vector_limits limits = tw_vector_limits_of(r);
  const int32x4_t factor = vdupq_n_s32(*mul), summand = vdupq_n_s32(*add);
  for (int32_t i = 0; i < n; i += TW_LANES) {
    const mve_pred16_t some = vctp32q((uint32_t)(n - i));
    const int32x4_t by = are_many ? vldrwq_z_s32(mul + i, some) : factor;
    const int32x4_t plus = are_many ? vldrwq_z_s32(add + i, some) : summand;
    const int32x4_t value = tw_vector_requantise(TW_ANY_WAY, &limits, TW_FOUR(TW_X, x + i, some), by, plus);
    TW_PUT_FOUR(TW_Y, y + i, value, some);
  }
}

void TW_NAME(const tw_requantshift_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const int32_t outer = params->outer, inner = params->inner, channels = params->requant.channels;
  if (inner == 1) {
    for (int32_t o = 0; o < outer; o++, x += channels, y += channels) {
      one_row(&params->requant, channels, x, mul, add, y, 1);
    }
    return;
  }
  for (int32_t o = 0; o < outer; o++) {
    for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
      one_row(&params->requant, inner, x, mul + c, add + c, y, 0);
    }
  }
}
