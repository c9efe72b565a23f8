/* As itapartialmax.c for rows of bytes, all cores together: shares are computed once for each number of halvings. */
#include "itapartialmax.h"

#ifndef TW_NAME
#define TW_NAME tw_itapartialmax_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "halving_rows.h"

typedef struct {
  int32_t largest, total;
} group_sums;

/* Maximum and sum are corrected when a group raises the maximum. */
static group_sums sums_of(const tw_itapartialmax_params *p, const TW_X *x) {
  group_sums found = {-128, 0};
  for (int32_t start = 0, count; start < p->length; start += count, x += count) {
    count = tw_min(p->length - start, p->group_width);
    const int32_t raised = tw_x_max(found.largest, tw_largest_byte(x, count));
    found.total = (found.total >> tw_halvings_of(raised, found.largest)) + tw_sum_of_halves(raised, x, count);
    found.largest = raised;
  }
  return found;
}

void TW_NAME(const tw_itapartialmax_params *params, const TW_X *x, TW_Y *y) {
  const int32_t length = params->length;
  const tw_rows mine = tw_rows_of(params->rows, length);
  if (mine.first >= mine.end) return;
  for (int32_t row = mine.first_row; row < mine.end_row; row++) {
    const TW_X *const from = x + row * length;
    const group_sums sums = sums_of(params, from);
    uint8_t result[TW_HALVINGS];
    tw_halved_shares(params->top * 256 / tw_max(sums.total, 1), params->requantised ? &params->out : 0, result);
    tw_write_shares(result, sums.largest, from + mine.first, y + row * length + mine.first, mine.end - mine.first);
  }
}
