/* y = requant(a function of x by a table, linear between its values), in words; one bit at the least is shifted away, and
 * ties go up or to the even neighbour. */
#include "qlinearfunction.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearfunction_words
#define TW_Y int8_t
#endif

#include "full_range.h"

typedef struct {
  const int32_t *middle; /* the table's value at x = 0 */
  int32_t bits, mask, shift, below, even, zero, low, high;
} function;

/* Whoever made the table saw to it that totals fit 32 bits; with half a unit they need not. */
TW_ALWAYS int32_t rounded(const function *f, int32_t total) {
#ifdef __ARM_FEATURE_DSP
  return __qadd(total, f->below + ((total >> f->shift) & f->even)) >> f->shift;
#else
  const int32_t value = ((total >> (f->shift - 1)) + 1) >> 1;
  return (uint32_t)total << (32 - f->shift) == 0x80000000u ? value - (value & f->even) : value;
#endif
}

TW_ALWAYS TW_Y value_of(const function *f, int is_full, int32_t x) {
  const int32_t *const values = f->middle + (x >> f->bits);
  const int32_t first = values[0];
  const int32_t total = (int32_t)((uint32_t)first << f->bits) + (values[1] - first) * (x & f->mask);
  const int32_t value = rounded(f, total) + f->zero;
  return is_full ? tw_to_byte(value) : (TW_Y)tw_clamp(value, f->low, f->high);
}

TW_ALWAYS void values_of(const function *all, int is_full, const int16_t *x, TW_Y *y, int32_t count) {
  const function f = *all;
  for (; count >= 2; count -= 2, x += 2, y += 2) {
    const int32_t first = x[0], second = x[1];
    const TW_Y a = value_of(&f, is_full, first), b = value_of(&f, is_full, second);
    y[0] = a, y[1] = b;
  }
  if (count > 0) *y = value_of(&f, is_full, *x);
}

void TW_NAME(const tw_qlinearfunction_params *params, const int16_t *x, const int32_t *table, TW_Y *y) {
  const tw_requant *const r = &params->requant;
  const int32_t half = 1 << (r->shift - 1), even = r->rounding == TW_HALF_EVEN, bits = params->bits;
  const function f = {table + (-INT16_MIN >> bits), bits, (1 << bits) - 1, r->shift, half - even, even, r->zero_point,
                      r->low, r->high};
  if (tw_is_full_range(r)) {
    values_of(&f, 1, x, y, params->count);
  } else {
    values_of(&f, 0, x, y, params->count);
  }
}
