/* As itapartialmax.c for rows of bytes, all cores together: shares are computed once for each distance from the largest
 * value, of which a row has few. */
#include "itapartialmax.h"

#ifndef TW_NAME
#define TW_NAME tw_itapartialmax_rows_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "halvings.h"
#include "tw.h"

/* Bytes are at most 255 apart: eight halvings. */
enum { SHARES = 9 };

static void one_row(const tw_itapartialmax_params *p, const TW_X *x, TW_Y *y) {
  const int32_t length = p->length, width = p->group_width;
  int32_t largest = -128, total = 0;
  TW_Y result[SHARES];
  for (int32_t start = 0; start < length;) {
    const int32_t stop = length - start > width ? start + width : length;
    int32_t raised = largest;
    for (int32_t i = start; i < stop; i++) raised = tw_max(raised, x[i]);
    total >>= tw_halvings(raised, largest);
    for (int32_t i = start; i < stop; i++) total += 256 >> ((raised - x[i] + 16) >> 5);
    largest = raised;
    start = stop;
  }
  const int32_t share = p->top * 256 / tw_max(total, 1);
  for (int32_t k = 0; k < SHARES; k++) result[k] = (TW_Y)(p->requantised ? tw_scale(&p->out, share >> k) : share >> k);
  for (int32_t i = 0; i < length; i++) y[i] = result[(largest - x[i] + 16) >> 5];
}

void TW_NAME(const tw_itapartialmax_params *params, const TW_X *x, TW_Y *y) {
  const tw_share share = tw_share_of(params->rows);
  for (int32_t row = share.first; row < share.end; row++) {
    one_row(params, x + row * params->length, y + row * params->length);
  }
}
