/* y = x with rows written from a position on; where y is x, nothing else is touched */
#include "write_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_write_rows_i8
#define TW_X int8_t
#define TW_ROWS int8_t
#define TW_Y int8_t
#endif

static void copy(TW_Y *y, const TW_X *x, int32_t count) {
  for (int32_t i = 0; i < count; i++) y[i] = x[i];
}

void TW_NAME(const tw_write_rows_params *params, const TW_X *x, const TW_ROWS *rows, const int32_t *position, TW_Y *y) {
  const int32_t length = params->length, first = tw_clamp(position[0], 0, params->held);
  if ((const void *)x != (const void *)y) copy(y, x, params->held * length);
  copy(y + first * length, rows, tw_min(params->rows, params->held - first) * length);
}
