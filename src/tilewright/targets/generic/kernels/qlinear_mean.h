/* The mean of integers, requantised. */
#ifndef TW_QLINEAR_MEAN_H
#define TW_QLINEAR_MEAN_H

#include "requant.h"

/* Whether a tie between a quotient and the next goes to the next: to the even one, or away from zero. */
static inline int tw_tie_goes_up(const tw_requant *r, int64_t quotient) {
  return r->rounding == TW_HALF_AWAY ? quotient >= 0 : quotient % 2 != 0;
}

/* clamp(round(total * mul / (count * 2^shift)) + zero_point). An exact division: the means of integers are often ties,
 * which a rounded reciprocal would take to one side. No elements have the mean 0. */
static inline int32_t tw_mean(const tw_requant *r, int32_t total, int32_t count, int32_t mul) {
  const int32_t by = count > 0 ? count : 1;
  const int64_t divisor = (int64_t)by << r->shift;
  const int64_t product = (int64_t)total * mul, shifted = product >> r->shift;
  /* The whole part of a whole part: a division of 32 bits, where they are enough. */
  int64_t quotient = (int32_t)shifted == shifted ? (int32_t)shifted / by : product / divisor;
  int64_t rest = product - quotient * divisor;
  if (rest < 0) {
    quotient--;
    rest += divisor;
  }
  if (2 * rest > divisor || (2 * rest == divisor && tw_tie_goes_up(r, quotient))) quotient++;
  quotient += r->zero_point;
  return (int32_t)(quotient < r->low ? r->low : quotient > r->high ? r->high : quotient);
}

#endif
