/* y = saturate(round(x / scale) + zero), as quantise_row.h says */
#include "quantizelinear.h"

#ifndef TW_NAME
#define TW_NAME tw_quantizelinear_fused
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

#include "quantise_row.h"

void TW_NAME(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const int32_t outer = params->outer, channels = params->channels, inner = params->inner;
  for (int32_t o = 0; o < outer; o++) {
    for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
      const float low = (float)(params->low - zero[c]), high = (float)(params->high - zero[c]);
      tw_quantise_row(x, y, inner, scale[c], zero[c], low, high);
    }
  }
}
