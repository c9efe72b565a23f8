/* y = clamp(round(e * (numerator / sum(e)) / 2^shift) + zero_point), where e is the exponential of x - largest shown by
 * tables, 0 where x is not shown by the mask */
#include "qlinearmaskedsoftmax.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearmaskedsoftmax_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#define LOWEST (-(1 << 15)) /* no element is less */
#define FINE_BITS 15        /* one is 2^FINE_BITS in the fine table */

static inline int32_t power(const tw_qlinearmaskedsoftmax_params *p, const int32_t *table, int32_t distance) {
  if (sizeof(TW_X) == 1) return table[distance];
  const int32_t at = distance >> p->bits;
  if (at >= p->coarse) return 0;
  const int32_t fine = table[p->coarse + (distance & ((1 << p->bits) - 1))];
  return (int32_t)(((int64_t)table[at] * fine) >> FINE_BITS);
}

static void softmax(const tw_qlinearmaskedsoftmax_params *p, const TW_X *x, const uint8_t *mask, const int32_t *table,
                    TW_Y *y) {
  const TW_Y nothing = (TW_Y)tw_narrow(&p->requant, 0);
  int32_t largest = LOWEST;
  int64_t sum = 0;
  for (int32_t i = 0; i < p->length; i++) {
    if (mask[i]) largest = tw_max(largest, x[i]);
  }
  for (int32_t i = 0; i < p->length; i++) {
    if (mask[i]) sum += power(p, table, largest - x[i]);
  }
  const int64_t share = sum > 0 ? p->numerator / sum : 0;
  for (int32_t i = 0; i < p->length; i++) {
    y[i] = mask[i] ? (TW_Y)tw_narrow(&p->requant, power(p, table, largest - x[i]) * share) : nothing;
  }
}

void TW_NAME(const tw_qlinearmaskedsoftmax_params *params, const TW_X *x, const uint8_t *mask, const int32_t *table,
             TW_Y *y) {
  const tw_qlinearmaskedsoftmax_params p = *params;
  int32_t at[TW_MAX_RANK] = {0}, row = 0, shown = 0;
  if (p.length == 0 || p.rows.size[0] == 0) return;
  do {
    softmax(&p, x + row, mask + shown, table, y);
    y += p.length;
  } while (tw_next_rows(&p.rows, at, &row, &shown));
}
