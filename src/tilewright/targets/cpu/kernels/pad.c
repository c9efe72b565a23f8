/* y = x with a border of a constant: every element is written once where rows of x lie in one piece */
#include "pad.h"

#include "bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_pad_f32
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

static void fill(TW_Y *y, int32_t first, int32_t end, TW_Y border) {
  for (int32_t i = first; i < end; i++) y[i] = border;
}

void TW_NAME(const tw_pad_params *params, const TW_X *x, TW_Y *y) {
#if TW_X_IS_FLOAT
  const TW_Y border = params->value;
#else
  const TW_Y border = (TW_Y)params->integer;
#endif
  const int32_t last = params->rank - 1, length = params->size[last], step = params->stride[last];
  const int32_t rows = tw_walk_length(last, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = params->start, done = 0;
  if (step != 1) fill(y, 0, params->count, border);
  for (int32_t row = 0; row < rows; row++, x += length) {
    if (step == 1) {
      fill(y, done, offset, border);
      memcpy(y + offset, x, (size_t)length * sizeof *y);
      done = offset + length;
    } else {
      for (int32_t i = 0; i < length; i++) y[offset + i * step] = x[i];
    }
    tw_walk(last, params->size, params->stride, at, &offset);
  }
  if (step == 1) fill(y, done, params->count, border);
}
