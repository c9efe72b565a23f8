/* y[o, d, i] = values[1] where indices[o, i] is d (negative indices count from the end), values[0] elsewhere */
#include "onehot.h"

#ifndef TW_NAME
#define TW_NAME tw_onehot_i64_f32
#define TW_INDICES int64_t
#define TW_VALUES float
#define TW_Y float
#endif

void TW_NAME(const tw_onehot_params *params, const TW_INDICES *indices, const TW_VALUES *values, TW_Y *y) {
  const int32_t depth = params->depth, start = params->start, length = params->length, inner = params->inner;
  const TW_VALUES off = values[0], on = values[1];
  for (int32_t outer = 0; outer < params->outer; outer++) {
    for (int32_t i = 0; i < length * inner; i++) y[i] = off;
    for (int32_t i = 0; i < inner; i++) {
      const int64_t index = indices[i] < 0 ? (int64_t)indices[i] + depth : (int64_t)indices[i];
      if (index >= start && index < (int64_t)start + length) y[(int32_t)(index - start) * inner + i] = on;
    }
    indices += inner;
    y += length * inner;
  }
}
