/* y[o, l, i] = x[o, 0, i] + ... + x[o, l, i] */
#include "cumsum.h"

#ifndef TW_NAME
#define TW_NAME tw_cumsum_f32
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

/* Integers wrap around. */
static inline TW_Y sum_of(TW_Y a, TW_X b) {
#if TW_X_IS_FLOAT
  return a + b;
#else
  return (TW_Y)((uint64_t)a + (uint64_t)b);
#endif
}

void TW_NAME(const tw_cumsum_params *params, const TW_X *x, TW_Y *y) {
  const int32_t length = params->length, inner = params->inner, exclusive = params->exclusive;
  const int32_t step = params->reverse ? -inner : inner, first = params->reverse ? (length - 1) * inner : 0;
  for (int32_t outer = 0; outer < params->outer; outer++) {
    for (int32_t i = 0; i < inner; i++) {
      TW_Y total = 0;
      int32_t at = first + i;
      for (int32_t count = 0; count < length; count++) {
        const TW_Y before = total;
        total = sum_of(total, x[at]);
        y[at] = exclusive ? before : total;
        at += step;
      }
    }
    x += length * inner;
    y += length * inner;
  }
}
