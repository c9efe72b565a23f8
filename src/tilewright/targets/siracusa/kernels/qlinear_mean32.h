/* The mean of integers, requantised, without a division of 64 bits. */
#ifndef TW_QLINEAR_MEAN32_H
#define TW_QLINEAR_MEAN32_H

#include "cluster.h"
#include "qlinear_mean.h"

/* As tw_mean. The product is first divided by 2^shift, which is cheap; the floor of what that leaves, divided by the
 * count, is the floor of the whole quotient. */
static TW_COMPACT int32_t tw_mean32(const tw_requant *r, int32_t total, int32_t count, int32_t mul) {
  const int64_t product = (int64_t)total * mul, shifted = product >> r->shift;
  const int64_t below = 2 * (product - shifted * ((int64_t)1 << r->shift));
  const int32_t high = (int32_t)shifted;
  if (high != shifted || count <= 0 || count >= 1 << 29) return tw_mean(r, total, count, mul);
  int32_t quotient = high / count, rest = high - quotient * count;
  if (rest < 0) {
    quotient--;
    rest += count;
  }
  const int32_t carry = (int32_t)(below >> r->shift), twice = 2 * rest + carry;
  const int is_beyond = below != (int64_t)carry << r->shift;
  if (twice > count || (twice == count && (is_beyond || quotient % 2 != 0))) quotient++;
  const int64_t result = (int64_t)quotient + r->zero_point;
  return (int32_t)(result < r->low ? r->low : result > r->high ? r->high : result);
}

#endif
