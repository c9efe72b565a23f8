/* A weighted sum of two bytes: clamp(round((a * mul_a + b * mul_b + offset) / 2^shift) + zero_point), ties up, where 16
 * bits hold what is limited. Multipliers and the offset are high * 2^TW_LOW_BITS + low, the multipliers' parts have 16 bits;
 * the shift of `requant` is that of the upper part. */
#ifndef TW_BYTE_SUM_H
#define TW_BYTE_SUM_H

#include "requant.h"

#define TW_LOW_BITS 15

typedef struct {
  int32_t high_a, low_a, high_b, low_b, high_offset, low_offset;
  tw_requant requant;
} tw_byte_sum;

static inline int32_t tw_byte_sum_of(const tw_byte_sum *s, int32_t a, int32_t b) {
  const int32_t low = a * s->low_a + b * s->low_b + s->low_offset;
  const int32_t high = a * s->high_a + b * s->high_b + s->high_offset + (low >> TW_LOW_BITS);
  const int32_t value = ((high + (1 << (s->requant.shift - 1))) >> s->requant.shift) + s->requant.zero_point;
  return value < s->requant.low ? s->requant.low : value > s->requant.high ? s->requant.high : value;
}

#endif
