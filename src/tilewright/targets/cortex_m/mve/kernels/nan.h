/* Whether an element is not a number, by its bits: clang's vectors take such numbers for smaller than zero and for equal
 * to themselves. Never so for integers. */
#ifndef TW_NAN_H
#define TW_NAN_H

#include "float_bits.h"

static inline int tw_is_nan(float x) {
  const tw_float_bits number = {.value = x};
  return (number.bits & 0x7fffffffu) > 0x7f800000u;
}

#if TW_X_IS_FLOAT || TW_A_IS_FLOAT
#define TW_IS_NAN(x) tw_is_nan(x)
#else
#define TW_IS_NAN(x) 0
#endif

#endif
