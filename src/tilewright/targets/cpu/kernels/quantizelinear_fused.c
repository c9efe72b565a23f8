/* y = saturate(round(x / scale) + zero), ties to even; what is not a number gives the lowest value.
 *
 * The quotient is that of a division: a product with the reciprocal, corrected by what it leaves over, which fused
 * multiplications know exactly, is rounded as the quotient is (Markstein), if the reciprocal is; but for divisors whose
 * digits are all ones, or at the ends of the range, which are divided by. Values far outside are moved to where they are
 * limited all the same, so that nothing is infinite on the way. */
#include "quantizelinear.h"

#include <string.h>

#include "quantise_neon.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_quantizelinear_fused
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

/* Adding 1.5 * 2^23 rounds to a whole number, ties to even. */
static inline int32_t round_half_even(float x) {
  const float no_fraction = 12582912.0f;
  return (int32_t)((x + no_fraction) - no_fraction);
}

static int is_divided(float divisor) {
  uint32_t bits;
  memcpy(&bits, &divisor, sizeof bits);
  return !(divisor > 1e-30f && divisor < 1e30f) || (bits & 0x7fffff) == 0x7fffff;
}

static inline float limited(float x, float low, float high) { return x >= low ? x <= high ? x : high : low; }

static void divide(const float *x, TW_Y *y, int32_t count, float divisor, int32_t offset, float low, float high) {
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)(round_half_even(limited(x[i] / divisor, low, high)) + offset);
}

static void multiply(const float *x, TW_Y *y, int32_t count, float divisor, int32_t offset, float low, float high) {
  const tw_divider by = tw_divider_of(divisor, low, high, offset);
  int32_t i = 0;
  for (; i + 16 <= count; i += 16) tw_quantise_sixteen(&by, (TW_Y)-1 > 0, x + i, y + i);
  divide(x + i, y + i, count - i, divisor, offset, low, high);
}

void TW_NAME(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const int32_t outer = params->outer, channels = params->channels, inner = params->inner;
  for (int32_t o = 0; o < outer; o++) {
    for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
      const float low = (float)(params->low - zero[c]), high = (float)(params->high - zero[c]);
      (is_divided(scale[c]) ? divide : multiply)(x, y, inner, scale[c], zero[c], low, high);
    }
  }
}
