/* Whether a number is none, by its bits, and whether it is below another one, which it never is then: clang's vectors
 * take what is no number for equal to itself, and for below any number. */
#ifndef TW_NAN_H
#define TW_NAN_H

#include "float_bits.h"

static inline int tw_is_nan(float x) {
  const tw_float_bits number = {.value = x};
  return (number.bits & 0x7fffffffu) > 0x7f800000u;
}

static inline int tw_is_below(float x, float limit) { return x < limit && !tw_is_nan(x) && !tw_is_nan(limit); }

#if TW_X_IS_FLOAT || TW_A_IS_FLOAT
#define TW_IS_NAN(x) tw_is_nan(x)
#else
#define TW_IS_NAN(x) 0
#endif

#endif
