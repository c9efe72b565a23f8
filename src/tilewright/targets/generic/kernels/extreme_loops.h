/* The loops of ArgMax and ArgMin. A kernel includes this after it has defined better(x, than). */
#ifndef TW_EXTREME_LOOPS_H
#define TW_EXTREME_LOOPS_H

#include "extreme.h"
#include "nan.h"

static inline int same(TW_X a, TW_X b) { return a == b || (TW_IS_NAN(a) && TW_IS_NAN(b)); }

void TW_NAME(const tw_extreme_params *params, const TW_X *x, int64_t *y) {
  const int32_t length = params->length, inner = params->inner, last = params->last;
  for (int32_t outer = 0; outer < params->outer; outer++) {
    for (int32_t i = 0; i < inner; i++) y[i] = 0;
    for (int32_t l = 1; l < length; l++) {
      for (int32_t i = 0; i < inner; i++) {
        const TW_X candidate = x[l * inner + i], found = x[(int32_t)y[i] * inner + i];
        if (better(candidate, found) || (last && same(candidate, found))) y[i] = l;
      }
    }
    x += length * inner;
    y += inner;
  }
}

#endif
