/* y = table[x - lowest] */
#include "lookup.h"

#ifndef TW_NAME
#define TW_NAME tw_lookup_i8
#define TW_X int8_t
#define TW_TABLE int8_t
#define TW_Y int8_t
#endif

void TW_NAME(const tw_lookup_params *params, const TW_X *x, const TW_TABLE *table, TW_Y *y) {
  const int32_t outer = params->outer, channels = params->channels, inner = params->inner, lowest = params->lowest;
  for (int32_t o = 0; o < outer; o++) {
    for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
      const TW_TABLE *entries = table + c * 256;
      for (int32_t i = 0; i < inner; i++) y[i] = entries[x[i] - lowest];
    }
  }
}
