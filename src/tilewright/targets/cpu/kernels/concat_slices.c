/* y = x[0], x[1], ... one after the other along an axis, from some element of each on */
#include "concat_slices.h"

#include <string.h>

#ifndef TW_NAME
#define TW_NAME tw_concat_slices_f32
#define TW_X float
#define TW_Y float
#endif

void TW_NAME(const tw_concat_slices_params *params, const TW_X *const *x, TW_Y *y) {
  for (int32_t row = 0; row < params->rows; row++) {
    for (int32_t part = 0; part < params->count; part++) {
      const int32_t length = params->length[part];
      memcpy(y, x[part] + params->start[part] + (int64_t)row * length, (size_t)length * sizeof *y);
      y += length;
    }
  }
}
