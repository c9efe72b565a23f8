/* The mean of integers, requantised. */
#ifndef TW_QLINEAR_MEAN_H
#define TW_QLINEAR_MEAN_H

#include "requant.h"

/* clamp(round(total * mul / (count * 2^shift)) + zero_point), ties to even. An exact division: the means of integers
 * are often ties, which a rounded reciprocal would take to one side. No elements have the mean 0. */
static inline int32_t tw_mean(const tw_requant *r, int32_t total, int32_t count, int32_t mul) {
  const int64_t divisor = (int64_t)(count > 0 ? count : 1) << r->shift;
  const int64_t product = (int64_t)total * mul;
  int64_t quotient = product / divisor, rest = product % divisor;
  if (rest < 0) {
    quotient--;
    rest += divisor;
  }
  if (2 * rest > divisor || (2 * rest == divisor && quotient % 2 != 0)) quotient++;
  quotient += r->zero_point;
  return (int32_t)(quotient < r->low ? r->low : quotient > r->high ? r->high : quotient);
}

#endif
