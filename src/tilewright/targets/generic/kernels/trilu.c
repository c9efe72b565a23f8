/* y = x above or below a diagonal, 0 elsewhere; y may be x */
#include "trilu.h"

#ifndef TW_NAME
#define TW_NAME tw_trilu_f32
#define TW_X float
#define TW_Y float
#endif

void TW_NAME(const tw_trilu_params *params, const TW_X *x, TW_Y *y) {
  const int32_t rows = params->rows, columns = params->columns, upper = params->upper, k = params->k;
  for (int32_t matrix = 0; matrix < params->batch; matrix++) {
    for (int32_t row = 0; row < rows; row++) {
      const int32_t first = upper ? tw_clamp(row + k, 0, columns) : 0;
      const int32_t end = upper ? columns : tw_clamp(row + k + 1, 0, columns);
      for (int32_t i = 0; i < first; i++) y[i] = 0;
      for (int32_t i = first; i < end; i++) y[i] = x[i];
      for (int32_t i = end; i < columns; i++) y[i] = 0;
      x += columns;
      y += columns;
    }
  }
}
