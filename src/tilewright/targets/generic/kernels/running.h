/* What is joined so far along an axis: included by kernels that define `NOTHING` and `joined`. */
#include "cumsum.h"

void TW_NAME(const tw_cumsum_params *params, const TW_X *x, TW_Y *y) {
  const int32_t length = params->length, inner = params->inner, exclusive = params->exclusive;
  const int32_t step = params->reverse ? -inner : inner, first = params->reverse ? (length - 1) * inner : 0;
  for (int32_t outer = 0; outer < params->outer; outer++) {
    for (int32_t i = 0; i < inner; i++) {
      TW_Y total = NOTHING;
      int32_t at = first + i;
      for (int32_t count = 0; count < length; count++) {
        const TW_Y before = total;
        total = joined(total, x[at]);
        y[at] = exclusive ? before : total;
        at += step;
      }
    }
    x += length * inner;
    y += length * inner;
  }
}
