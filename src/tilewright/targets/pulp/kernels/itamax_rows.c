/* As itamax.c for rows of bytes, all cores together: a row has few distances from its largest value, so that shares are
 * computed once for each of them. */
#include "itamax.h"

#ifndef TW_NAME
#define TW_NAME tw_itamax_rows_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "tw.h"

/* Bytes are at most 255 apart: eight halvings. */
enum { SHARES = 9 };

static void one_row(const tw_itamax_params *p, const TW_X *x, TW_Y *y) {
  const int32_t length = p->length;
  int32_t largest = x[0], total = 0;
  TW_Y result[SHARES];
  for (int32_t i = 1; i < length; i++) largest = tw_max(largest, x[i]);
  for (int32_t i = 0; i < length; i++) total += 256 >> ((largest - x[i] + 16) >> 5);
  const int32_t share = p->top * 256 / total;
  for (int32_t k = 0; k < SHARES; k++) result[k] = (TW_Y)(p->requantised ? tw_scale(&p->out, share >> k) : share >> k);
  for (int32_t i = 0; i < length; i++) y[i] = result[(largest - x[i] + 16) >> 5];
}

void TW_NAME(const tw_itamax_params *params, const TW_X *x, TW_Y *y) {
  const tw_share share = tw_share_of(params->rows);
  for (int32_t row = share.first; row < share.end; row++) {
    one_row(params, x + row * params->length, y + row * params->length);
  }
}
