/* Defines a kernel that takes one tensor element by element: TW_UNARY(expression of x, alpha and beta). */
#ifndef TW_UNARY_KERNEL_H
#define TW_UNARY_KERNEL_H

#include "alone.h"
#include "nan.h"
#include "tw.h"
#include "unary.h"
#include "wrapping.h"

#define TW_UNARY(EXPRESSION)                                                             \
  static inline TW_Y tw_one(TW_X x, float alpha, float beta) {                           \
    (void)alpha, (void)beta;                                                             \
    return (TW_Y)(EXPRESSION);                                                           \
  }                                                                                      \
  void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {                  \
    const int32_t count = params->count;                                                 \
    const float alpha = params->alpha, beta = params->beta;                              \
    TW_INDEPENDENT for (int32_t i = 0; i < count; i++) y[i] = tw_one(x[i], alpha, beta); \
  }

/* x between 0 and 1; NaN stays NaN. */
static inline float tw_unit(float x) { return tw_is_below(x, 0.0f) ? 0.0f : x > 1.0f ? 1.0f : x; }

#endif
