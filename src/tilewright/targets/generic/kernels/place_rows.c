/* y = x with rows at some place of each plane; where y is x, nothing else is touched */
#include "bytes.h"
#include "place_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_place_rows_i8
#define TW_X int8_t
#define TW_ROWS int8_t
#define TW_Y int8_t
#endif

void TW_NAME(const tw_place_rows_params *params, const TW_X *x, const TW_ROWS *rows, TW_Y *y) {
  const int32_t held = params->held, length = params->length;
  for (int32_t plane = 0; plane < params->planes; plane++) {
    if ((const void *)x != (const void *)y) memcpy(y + plane * held, x + plane * held, (size_t)held * sizeof *y);
    memcpy(y + plane * held + params->start, rows + plane * length, (size_t)length * sizeof *y);
  }
}
