/* y = clamp((x * mul + add + half) >> shift), per tensor or per channel */
#include "requantshift.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_requantshift_i32_i8
#define TW_X int32_t
#define TW_Y int8_t
#endif

void TW_NAME(const tw_requantshift_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_requant requant = params->requant;
  const int32_t outer = params->outer, inner = params->inner, channels = requant.channels;
  if (inner == 1) {
    for (int32_t o = 0; o < outer; o++, x += channels, y += channels) {
      TW_INDEPENDENT
      for (int32_t c = 0; c < channels; c++) y[c] = (TW_Y)tw_requantise(&requant, x[c], mul[c], add[c]);
    }
    return;
  }
  for (int32_t o = 0; o < outer; o++) {
    for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
      const int32_t factor = mul[c], summand = add[c];
      TW_INDEPENDENT
      for (int32_t i = 0; i < inner; i++) y[i] = (TW_Y)tw_requantise(&requant, x[i], factor, summand);
    }
  }
}
