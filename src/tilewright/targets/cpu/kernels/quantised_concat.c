/* y = x[0], x[1], ... one after the other along an axis, quantised with one scale as quantise_row.h says */
#include "quantised_concat.h"

#ifndef TW_NAME
#define TW_NAME tw_quantised_concat
#define TW_Y int8_t
#endif

#include "quantise_row.h"

void TW_NAME(const tw_quantised_concat_params *params, const float *const *x, TW_Y *y) {
  const float low = (float)(params->low - params->zero), high = (float)(params->high - params->zero);
  for (int32_t row = 0; row < params->rows; row++) {
    for (int32_t part = 0; part < params->count; part++) {
      const int32_t length = params->length[part];
      tw_quantise_row(x[part] + params->start[part] + (int64_t)row * length, y, length, params->scale, params->zero, low,
                      high);
      y += length;
    }
  }
}
