/* max(x, 0) of results of the floating-point unit, in place. As integers, negative floats are negative, and what is not a
 * number is positive, for the unit gives no other: one instruction, and none of the unit that two cores share. */
#ifndef TW_POSITIVE_F32_H
#define TW_POSITIVE_F32_H

#include "xpulp.h"

typedef union {
  float value;
  int32_t bits;
} tw_signed_bits;

static inline float tw_positive(float x) {
  tw_signed_bits of;
  of.value = x;
  of.bits = tw_x_max(of.bits, 0);
  return of.value;
}

/* What is no less than `low`, which is 0 or the least integer. */
static inline __attribute__((always_inline)) void tw_store_above(float x, int32_t low, float *y) {
  tw_signed_bits of;
  of.value = x;
  of.bits = tw_x_max(of.bits, low);
  *y = of.value;
}

/* Four at a time, loaded before any of them is stored, because a load's result is not there at once. */
static inline void tw_all_positive(float *y, int32_t count, int32_t step) {
  for (; count >= 4; count -= 4, y += 4 * step) {
    const float x0 = y[0], x1 = y[step], x2 = y[2 * step], x3 = y[3 * step];
    y[0] = tw_positive(x0), y[step] = tw_positive(x1), y[2 * step] = tw_positive(x2), y[3 * step] = tw_positive(x3);
  }
  for (; count > 0; count--, y += step) *y = tw_positive(*y);
}

#endif
