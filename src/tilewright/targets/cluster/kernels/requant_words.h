/* The exact requantisation of requant.h for results of at most 16 bits, a word at a time: shifts of 64-bit numbers take
 * these cores far longer than all else. */
#ifndef TW_REQUANT_WORDS_H
#define TW_REQUANT_WORDS_H

#include "requant.h"
#include "xpulp.h"

static inline int32_t tw_within(const tw_requant *r, int32_t value) {
  return tw_x_min(tw_x_max(value, r->low), r->high);
}

/* By a shift of 1 to 31: a quotient that does not fit a word saturates, and so does one that may overflow below. */
static inline int32_t tw_shifted_low(const tw_requant *r, int64_t wide) {
  const int32_t high = (int32_t)(wide >> 32), shift = r->shift;
  const uint32_t low = (uint32_t)wide, half = 1u << (shift - 1), rest = low & (2 * half - 1);
  const int32_t quotient = (int32_t)((uint32_t)high << (32 - shift) | low >> shift);
  const int is_large = ((uint32_t)quotient + (1u << 30)) >> 31 || high >> (shift - 1) != high >> 31;
  if (is_large) return high < 0 ? r->low : r->high;
  const uint32_t tie = r->rounding == TW_HALF_EVEN ? (uint32_t)quotient & 1 : 1;
  return tw_within(r, quotient + (rest + tie > half) + r->zero_point);
}

/* By a shift of 33 to 61: of the low word it matters only whether it is zero, which it is in a tie. */
static inline int32_t tw_shifted_high(const tw_requant *r, int64_t wide) {
  const int32_t high = (int32_t)(wide >> 32), shift = r->shift - 32, half = 1 << (shift - 1);
  int32_t value = (high + half) >> shift;
  if (r->rounding == TW_HALF_EVEN && (uint32_t)wide == 0 && (high & (2 * half - 1)) == half) value &= ~1;
  return tw_within(r, value + r->zero_point);
}

static inline int32_t tw_requantise_words(const tw_requant *r, int32_t x, int32_t mul, int32_t add) {
  if (TW_IS_TFLITE(r)) return tw_requantise_scaled(r, x, mul, add);
  const int64_t wide = (int64_t)x * mul + add;
  if (r->shift > 32 && r->shift < 62) return tw_shifted_high(r, wide);
  return r->shift > 0 && r->shift < 32 ? tw_shifted_low(r, wide) : tw_narrow(r, wide);
}

#endif
