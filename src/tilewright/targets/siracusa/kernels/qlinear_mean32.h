/* The mean of integers, requantised, without a division of 64 bits. */
#ifndef TW_QLINEAR_MEAN32_H
#define TW_QLINEAR_MEAN32_H

#include "cluster.h"
#include "qlinear_mean.h"
#include "tw.h"

static TW_COMPACT int32_t tw_wide_mean(const tw_requant *r, int32_t total, int32_t count, int32_t mul) {
  return tw_mean(r, total, count, mul);
}

/* As tw_mean. The product is first divided by 2^shift, which is cheap; the floor of what that leaves, divided by the
 * count, is the floor of the whole quotient. */
static __attribute__((noinline)) int32_t tw_mean32(const tw_requant *r, int32_t total, int32_t count, int32_t mul) {
  const int32_t shift = r->shift;
  const int64_t product = (int64_t)total * mul, doubled = shift > 0 ? product >> (shift - 1) : product * 2;
  const int32_t high = (int32_t)(doubled >> 1);
  if (high != doubled >> 1 || count <= 0 || count >= 1 << 29) return tw_wide_mean(r, total, count, mul);
  int32_t quotient = high / count, rest = high - quotient * count;
  if (rest < 0) {
    quotient--;
    rest += count;
  }
  const int32_t twice = 2 * rest + (int32_t)(doubled & 1);
  const int is_beyond = twice == count && shift > 1 && doubled * ((int64_t)1 << (shift - 1)) != product;
  if (twice > count || (twice == count && (is_beyond || quotient % 2 != 0))) quotient++;
  quotient = tw_clamp(quotient, -(1 << 30), 1 << 30) + r->zero_point;
  return tw_clamp(quotient, r->low, r->high);
}

#endif
