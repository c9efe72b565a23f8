/* Defines a kernel that takes one tensor element by element, all cores together:
 * TW_SHARED_UNARY(expression of x, alpha and beta). */
#ifndef TW_SHARED_UNARY_H
#define TW_SHARED_UNARY_H

#include "alone.h"
#include "cluster.h"
#include "unary.h"

#define TW_SHARED_UNARY(EXPRESSION)                                                       \
  static inline TW_Y tw_one(TW_X x, float alpha, float beta) {                            \
    (void)alpha, (void)beta;                                                              \
    return (TW_Y)(EXPRESSION);                                                            \
  }                                                                                       \
  void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {                   \
    const tw_share share = tw_share_of(params->count);                                    \
    const float alpha = params->alpha, beta = params->beta;                               \
    for (int32_t i = share.first; i < share.end; i++) y[i] = tw_one(x[i], alpha, beta);   \
  }

#endif
