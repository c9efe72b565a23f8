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
  if (twice > count || (twice == count && (is_beyond || tw_tie_goes_up(r, quotient)))) quotient++;
  quotient = tw_clamp(quotient, -(1 << 30), 1 << 30) + r->zero_point;
  return tw_clamp(quotient, r->low, r->high);
}

/* Means of up to TW_QUICK_COUNT bytes by one product, which is not exact: 2^20 times the mean, wrong by at most `slack`.
 * Only where that is near a half, it takes the exact way to know the side. */
enum { TW_QUICK_BITS = 20, TW_QUICK_COUNT = 64, TW_QUICK_ONE = 1 << TW_QUICK_BITS };

typedef struct {
  int32_t mul, slack;
} tw_quick;

/* 2^20 times the factor of a sum of one element; 0 where that is too large for 32 bits. */
static inline int32_t tw_quick_factor(const tw_requant *r, int32_t mul) {
  const int64_t factor = ((int64_t)mul << TW_QUICK_BITS) >> r->shift;
  return factor < 1 << 23 ? (int32_t)factor : 0;
}

/* For sums of `count` differences of bytes: both quotients are wrong by less than one, for each of 255 times `count`. */
static inline tw_quick tw_quick_of(int32_t factor, int32_t count) {
  if (factor <= 0 || count <= 0 || count > TW_QUICK_COUNT) return (tw_quick){0, TW_QUICK_ONE / 2};
  return (tw_quick){factor / count, 2 * 255 * count + 1};
}

static inline int32_t tw_quick_mean(const tw_quick *quick, const tw_requant *r, int32_t total, int32_t count, int32_t mul) {
  const int32_t value = total * quick->mul + TW_QUICK_ONE / 2;
  const uint32_t beyond = (uint32_t)((value & (TW_QUICK_ONE - 1)) - quick->slack);
  if (beyond >= (uint32_t)(TW_QUICK_ONE - 2 * quick->slack)) return tw_mean32(r, total, count, mul);
  return tw_clamp((value >> TW_QUICK_BITS) + r->zero_point, r->low, r->high);
}

#endif
