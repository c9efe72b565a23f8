/* y[i, c] = requant(x[indices[i], c] * columns[c] * rows[indices[i]]) */
#include "qlineargather.h"

#ifndef TW_NAME
#define TW_NAME tw_qlineargather_i8_i32
#define TW_X int8_t
#define TW_INDICES int32_t
#define TW_Y int16_t
#endif

void TW_NAME(const tw_qlineargather_params *params, const TW_X *x, const TW_INDICES *indices, const int32_t *rows,
             const int32_t *columns, TW_Y *y) {
  const int32_t inner = params->inner;
  const tw_requant requant = params->requant;
  for (int32_t i = 0; i < params->count; i++, y += inner) {
    const int32_t row = tw_position(indices[i], params->length), mul = rows[row];
    const TW_X *const from = x + row * inner;
    for (int32_t c = 0; c < inner; c++) y[c] = (TW_Y)tw_narrow(&requant, (int64_t)(from[c] * columns[c]) * mul);
  }
}
