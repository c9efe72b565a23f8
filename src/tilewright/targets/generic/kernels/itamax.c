/* Shares of each row to the base of two: k = (max - x + 16) >> 5, y = (top * 256 / sum(256 >> k)) >> k */
#include "itamax.h"

#include "halvings.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_itamax_i8_u8
#define TW_X int8_t
#define TW_Y uint8_t
#endif

void TW_NAME(const tw_itamax_params *params, const TW_X *x, TW_Y *y) {
  const int32_t rows = params->rows, length = params->length, top = params->top;
  for (int32_t row = 0; row < rows; row++, x += length, y += length) {
    int32_t largest = x[0], total = 0;
    for (int32_t i = 1; i < length; i++) largest = tw_max(largest, x[i]);
    for (int32_t i = 0; i < length; i++) total += 256 >> tw_halvings(largest, x[i]);
    const int32_t share = top * 256 / total;
    for (int32_t i = 0; i < length; i++) {
      const int32_t part = share >> tw_halvings(largest, x[i]);
      y[i] = (TW_Y)(params->requantised ? tw_scale(&params->out, part) : part);
    }
  }
}
