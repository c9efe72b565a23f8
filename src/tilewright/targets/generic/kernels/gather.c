/* y[o, i, :] = x[o, indices[i], :] */
#include "gather.h"

#include "bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_gather_f32_i64
#define TW_X float
#define TW_INDICES int64_t
#define TW_Y float
#endif

void TW_NAME(const tw_gather_params *params, const TW_X *x, const TW_INDICES *indices, TW_Y *y) {
  const int32_t length = params->length, inner = params->inner, count = params->count;
  for (int32_t outer = 0; outer < params->outer; outer++) {
    if (inner == 1) {
      for (int32_t i = 0; i < count; i++) y[i] = x[tw_position(indices[i], length)];
    } else {
      for (int32_t i = 0; i < count; i++) {
        memcpy(y + i * inner, x + tw_position(indices[i], length) * inner, (size_t)inner * sizeof *y);
      }
    }
    x += length * inner;
    y += count * inner;
  }
}
