/* As itamax.c for rows of bytes, all cores together: shares are computed once for each number of halvings. */
#include "itamax.h"

#ifndef TW_NAME
#define TW_NAME tw_itamax_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "halving_rows.h"

void TW_NAME(const tw_itamax_params *params, const TW_X *x, TW_Y *y) {
  const int32_t length = params->length;
  const tw_rows mine = tw_rows_of(params->rows, length);
  if (mine.first >= mine.end) return;
  for (int32_t row = mine.first_row; row < mine.end_row; row++) {
    const TW_X *const from = x + row * length;
    const int32_t largest = tw_largest_byte(from, length);
    uint8_t result[TW_HALVINGS];
    tw_halved_shares(params->top * 256 / tw_sum_of_halves(largest, from, length), params->requantised ? &params->out : 0, result);
    tw_write_shares(result, largest, from + mine.first, y + row * length + mine.first, mine.end - mine.first);
  }
}
