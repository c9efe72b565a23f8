/* y = saturate(round(x / scale) + zero) of neighbours, ties to even; what is not a number gives the lowest value. Needs
 * TW_Y.
 *
 * The quotient is that of a division: a product with the reciprocal, corrected by what it leaves over, which fused
 * multiplications know exactly, is rounded as the quotient is (Markstein), if the reciprocal is; but for divisors whose
 * digits are all ones, or at the ends of the range, which are divided by. Values far outside are moved to where they are
 * limited all the same, so that nothing is infinite on the way. */
#ifndef TW_QUANTISE_ROW_H
#define TW_QUANTISE_ROW_H

#include <string.h>

#include "tw.h"
#if defined(TW_DOT_SDOT) || defined(TW_DOT_SMMLA)
#include "quantise_neon.h"
#endif

/* Adding 1.5 * 2^23 rounds to a whole number, ties to even. */
static inline int32_t round_half_even(float x) {
  const float no_fraction = 12582912.0f;
  return (int32_t)((x + no_fraction) - no_fraction);
}

static inline int is_divided(float divisor) {
  uint32_t bits;
  memcpy(&bits, &divisor, sizeof bits);
  return !(divisor > 1e-30f && divisor < 1e30f) || (bits & 0x7fffff) == 0x7fffff;
}

static inline float limited(float x, float low, float high) { return x >= low ? x <= high ? x : high : low; }

static void divide(const float *x, TW_Y *y, int32_t count, float divisor, int32_t offset, float low, float high) {
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)(round_half_even(limited(x[i] / divisor, low, high)) + offset);
}

static inline void tw_quantise_row(const float *x, TW_Y *y, int32_t count, float divisor, int32_t offset, float low,
                                   float high) {
  int32_t i = 0;
#if defined(TW_DOT_SDOT) || defined(TW_DOT_SMMLA)
  if (sizeof(TW_Y) == 1 && !is_divided(divisor)) {
    const tw_divider by = tw_divider_of(divisor, low, high, offset);
    for (; i + 32 <= count; i += 32) tw_quantise_some(2, &by, (TW_Y)-1 > 0, x + i, y + i);
    for (; i + 16 <= count; i += 16) tw_quantise_some(1, &by, (TW_Y)-1 > 0, x + i, y + i);
  }
#else
  (void)is_divided;
#endif
  divide(x + i, y + i, count - i, divisor, offset, low, high);
}

#endif
