/* What floats become bytes with, in units of 2^-16 of a result, and the division that decides where these are too close to half.
 * Needs TW_Y. */
#ifndef TW_QUANTISED_UNITS_H
#define TW_QUANTISED_UNITS_H

#include "full_range.h"
#include "quantizelinear.h"

enum { TW_UNITS_OFF = 8, TW_HALF_UNITS = 1 << 15 };

/* What is the same for all elements of a channel. */
typedef struct {
  float divisor, factor, low, high;
  int32_t zero, start; /* the zero point, half and what a quotient may be off, in units */
} scale_of;

static __attribute__((noinline)) TW_Y divided(const scale_of *s, float x) {
  const float no_fraction = 12582912.0f; /* of floats from 2^23 on: added, it rounds, ties to even */
  const float value = x / s->divisor;
  const float clamped = value >= s->low ? value <= s->high ? value : s->high : s->low;
  return (TW_Y)((int32_t)((clamped + no_fraction) - no_fraction) + s->zero);
}

static scale_of tw_scale_of(const tw_quantizelinear_params *p, float scale, int32_t zero) {
  const int32_t start = (int32_t)((uint32_t)zero << 16) + TW_HALF_UNITS + TW_UNITS_OFF;
  const scale_of s = {scale, 65536.0f / scale, (float)(p->low - zero), (float)(p->high - zero), zero, start};
  return s;
}

/* Whether units decide anything. */
static int tw_is_plain(const tw_quantizelinear_params *p, const scale_of *s) {
  const tw_requant limits = {.low = p->low, .high = p->high};
  return s->divisor > 1e-30f && s->divisor < 1e30f && tw_is_full_range(&limits);
}

/* Whether a sum of units and `start` is too close to a half. */
TW_ALWAYS int tw_is_close(int32_t sum) { return (uint16_t)sum < 2 * TW_UNITS_OFF; }

#endif
