/* y = saturate(round(x / scale) + zero) of bytes, ties to even, what is not a number gives the lowest value; for cores without
 * floats. Quotients come from the product of the mantissas of x and 1 / scale, in units of 2^-16, which is a few of them off at
 * the most: where that might change the result, x is divided. */
#include "quantizelinear.h"

#ifndef TW_NAME
#define TW_NAME tw_quantizelinear_integers
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

#include "quantised_units.h"

enum { TW_EXPONENT = 255, TW_LARGE_UNITS = 1 << 30 };

/* A float without its sign: its first bit, which is 1 and not stored, is the highest of the mantissa. */
typedef struct {
  uint32_t mantissa;
  int32_t exponent;
} parts;

TW_ALWAYS uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

TW_ALWAYS parts parts_of(uint32_t bits) {
  const parts p = {bits << 8 | 0x80000000u, (int32_t)(bits >> 23) & TW_EXPONENT};
  return p;
}

/* Of numbers whose quotient is below 2^-17 all bits are shifted away, of those above 2^9 some are wanted that the word lacks. */
TW_ALWAYS int32_t to_units(uint32_t bits, parts x, parts factor) {
  const uint32_t product = (uint32_t)((uint64_t)x.mantissa * factor.mantissa >> 32);
  const int32_t shift = 284 - x.exponent - factor.exponent;
  const int32_t units = shift > 31 ? 0 : shift < 6 ? TW_LARGE_UNITS : (int32_t)(product >> shift);
  return (int32_t)bits < 0 ? -units : units;
}

static __attribute__((noinline)) void channel(const scale_of *s, int is_plain, const float *x, TW_Y *y, int32_t count) {
  const parts factor = parts_of(bits_of(s->factor));
  const int32_t start = s->start;
  for (; count > 0; count--, x++, y++) {
    const uint32_t bits = bits_of(*x);
    const parts own = parts_of(bits);
    const int32_t sum = to_units(bits, own, factor) + start;
    *y = !is_plain || own.exponent == TW_EXPONENT || tw_is_close(sum) ? divided(s, *x) : tw_to_byte(sum >> 16);
  }
}

void TW_NAME(const tw_quantizelinear_params *params, const float *x, const float *scale, const TW_ZERO *zero, TW_Y *y) {
  const int32_t channels = params->channels, inner = params->inner;
  for (int32_t o = 0; o < params->outer; o++) {
    for (int32_t c = 0; c < channels; c++, x += inner, y += inner) {
      const scale_of s = tw_scale_of(params, scale[c], zero[c]);
      channel(&s, tw_is_plain(params, &s), x, y, inner);
    }
  }
}
