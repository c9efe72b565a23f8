/* y = clamp(round(e * (numerator / sum(e)) / 2^shift) + zero_point), where e = table[max(x) - x] */
#include "qlinearsoftmax.h"

#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearsoftmax_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

static void softmax(const tw_qlinearsoftmax_params *p, const TW_X *x, const int32_t *table, TW_Y *y) {
  const int32_t count = p->count, step = p->inner;
  int32_t largest = x[0];
  int64_t sum = 0;
  for (int32_t i = 1; i < count; i++) largest = tw_max(largest, x[i * step]);
  for (int32_t i = 0; i < count; i++) sum += table[largest - x[i * step]];
  const int64_t share = p->numerator / sum;
  for (int32_t i = 0; i < count; i++) y[i * step] = (TW_Y)tw_narrow(&p->requant, table[largest - x[i * step]] * share);
}

void TW_NAME(const tw_qlinearsoftmax_params *params, const TW_X *x, const int32_t *table, TW_Y *y) {
  const tw_qlinearsoftmax_params p = *params;
  if (p.count == 0) return;
  for (int32_t o = 0; o < p.outer; o++, x += p.count * p.inner, y += p.count * p.inner) {
    for (int32_t i = 0; i < p.inner; i++) softmax(&p, x + i, table, y + i);
  }
}
