/* y = x with a border of a constant */
#include "pad.h"

#include "bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_pad_f32
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

void TW_NAME(const tw_pad_params *params, const TW_X *x, TW_Y *y) {
#if TW_X_IS_FLOAT
  const TW_Y border = params->value;
#else
  const TW_Y border = (TW_Y)params->integer;
#endif
  const int32_t last = params->rank - 1, length = params->size[last], step = params->stride[last];
  const int32_t count = params->count, rows = tw_walk_length(last, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = params->start;
  for (int32_t i = 0; i < count; i++) y[i] = border;
  for (int32_t row = 0; row < rows; row++) {
    if (step == 1) {
      memcpy(y + offset, x, (size_t)length * sizeof *y);
    } else {
      for (int32_t i = 0; i < length; i++) y[offset + i * step] = x[i];
    }
    x += length;
    tw_walk(last, params->size, params->stride, at, &offset);
  }
}
