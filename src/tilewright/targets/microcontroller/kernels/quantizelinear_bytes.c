/* y = saturate(round(x / scale) + zero) of bytes, ties to even, what is not a number gives the lowest value; for cores whose
 * floats are divided slowly. Quotients come from a product with 1 / scale, in units of 2^-16, which is a few of them off at
 * the most: where that might change the result, and for zero and what is not a number, x is divided. */
#include "quantizelinear.h"

#ifndef TW_NAME
#define TW_NAME tw_quantizelinear_bytes
#define TW_ZERO int8_t
#define TW_Y int8_t
#endif

#include "quantised_units.h"

/* Towards zero, the nearest word there is; zero of what is not a number. */
TW_ALWAYS int32_t to_units(float quotient) {
#ifdef __ARM_FP
  float units;
  int32_t word;
  __asm__("vcvt.s32.f32 %0, %1" : "=t"(units) : "t"(quotient));
  __builtin_memcpy(&word, &units, sizeof word);
  return word;
#else
  return quotient > -2e9f && quotient < 2e9f ? (int32_t)quotient : 0;
#endif
}

TW_ALWAYS int32_t added(int32_t units, int32_t start) {
#ifdef __ARM_FEATURE_DSP
  return __qadd(units, start);
#else
  return units > 0x7e000000 || units < -0x7e000000 ? 0 : units + start;
#endif
}

/* Whether the quotient itself has to be looked at. */
TW_ALWAYS int is_unsure(int32_t units, int32_t sum) { return units == 0 || tw_is_close(sum); }

static __attribute__((noinline)) void some(const scale_of *s, int is_plain, const float *x, TW_Y *y, int32_t count) {
  for (; count > 0; count--, x++, y++) {
    const int32_t units = to_units(*x * s->factor), sum = added(units, s->start);
    *y = !is_plain || is_unsure(units, sum) ? divided(s, *x) : tw_to_byte(sum >> 16);
  }
}

/* Elements of a channel, four at a time. */
static __attribute__((noinline)) void channel(const scale_of *s, int is_plain, const float *x, TW_Y *y, int32_t count) {
  const float factor = s->factor;
  const int32_t start = s->start;
  for (; is_plain && count >= 4; count -= 4, x += 4, y += 4) {
    const float x0 = x[0] * factor, x1 = x[1] * factor, x2 = x[2] * factor, x3 = x[3] * factor;
    const int32_t a = to_units(x0), b = to_units(x1), c = to_units(x2), d = to_units(x3);
    const int32_t at_0 = added(a, start), at_1 = added(b, start), at_2 = added(c, start), at_3 = added(d, start);
    if (is_unsure(a, at_0) || is_unsure(b, at_1) || is_unsure(c, at_2) || is_unsure(d, at_3)) {
      some(s, 1, x, y, 4);
      continue;
    }
    const TW_Y y0 = tw_to_byte(at_0 >> 16), y1 = tw_to_byte(at_1 >> 16), y2 = tw_to_byte(at_2 >> 16);
    const TW_Y y3 = tw_to_byte(at_3 >> 16);
    y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;
  }
  some(s, is_plain, x, y, count);
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
