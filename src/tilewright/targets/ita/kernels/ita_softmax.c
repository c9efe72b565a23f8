/* Shares of rows as ITA makes them, by cores: scores arrive in groups of 16, and what was summed up is halved when a group
 * raises the largest. Rows over the cores. */
#include "ita_softmax.h"

#ifndef TW_NAME
#define TW_NAME tw_ita_softmax
#endif

#include "cluster.h"

#define GROUP 16

static inline int32_t halvings(int32_t distance, int32_t bits) {
  const int32_t found = (distance + ((1 << bits) >> 1)) >> bits;
  return found < 31 ? found : 31;
}

static void row_of(const tw_ita_softmax_params *p, const int8_t *x, uint8_t *y) {
  const int32_t length = p->length, bits = p->bits, one = p->one;
  int32_t largest = -128, total = 0;
  for (int32_t start = 0; start < length; start += GROUP) {
    const int32_t stop = length - start > GROUP ? start + GROUP : length;
    int32_t raised = largest;
    for (int32_t i = start; i < stop; i++) raised = x[i] > raised ? x[i] : raised;
    total >>= halvings(raised - largest, bits);
    for (int32_t i = start; i < stop; i++) total += one >> halvings(raised - x[i], bits);
    largest = raised;
  }
  const int32_t share = p->numerator / total;
  for (int32_t i = 0; i < length; i++) y[i] = (uint8_t)(share >> halvings(largest - x[i], bits));
}

void TW_NAME(const tw_ita_softmax_params *params, const int8_t *x, uint8_t *y) {
  const tw_ita_softmax_params p = *params;
  const tw_share share = tw_share_of(p.rows);
  for (int32_t row = share.first; row < share.end; row++) row_of(&p, x + row * p.length, y + row * p.length);
}
