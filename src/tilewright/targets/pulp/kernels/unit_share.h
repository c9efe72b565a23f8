/* What an exponential is of a sum: its product with `unit`, which is some numerator divided by the sum. */
#ifndef TW_UNIT_SHARE_H
#define TW_UNIT_SHARE_H

#include "divide64.h"
#include "requant_data.h"

/* Of the product, which is never negative, only the upper half matters, but for ties. */
typedef struct {
  uint32_t upper, lower;
  int32_t half, shift, high;
} unit_share;

static inline unit_share unit_share_of(const tw_requant *r, uint64_t unit) {
  const int32_t shift = r->shift - 32;
  return (unit_share){(uint32_t)(unit >> 32), (uint32_t)unit, (1 << shift) >> 1, shift, r->high - r->zero_point};
}

/* Without the zero point. */
static inline int32_t shared(const unit_share *u, int32_t exponential) {
  const uint32_t e = (uint32_t)exponential, more = (uint32_t)((uint64_t)e * u->lower >> 32);
  return tw_x_min((int32_t)((uint32_t)tw_x_mac_words(u->half, e, u->upper) + more) >> u->shift, u->high);
}

/* Whether a product of an exponential and this number may lie between two shares, or be shifted by less than a word: no
 * exponential has more than 30 factors of 2. */
static inline int may_tie(uint64_t unit, int32_t shift) {
  const uint32_t lower = (uint32_t)unit;
  if (shift < 33) return 1;
  return (lower ? tw_x_ff1(lower) : 32 + tw_x_ff1((uint32_t)(unit >> 32))) + 30 >= shift - 1;
}

static inline uint64_t unit_of(uint64_t numerator, uint64_t total) {
  if (total >> 32) return numerator / total;
  return total ? tw_divide_by_word(numerator, (uint32_t)total) : 0;
}

#endif
