/* From a floating-point number to the integer type TW_Y: truncates toward zero, saturates, and takes NaN to 0. */
#ifndef TW_SATURATE_H
#define TW_SATURATE_H

#include "wrapping.h"

#define TW_Y_BITS ((int)sizeof(TW_Y) * 8 - TW_Y_IS_SIGNED) /* without the sign */
#define TW_Y_MAX ((TW_Y)(UINT64_MAX >> (64 - TW_Y_BITS)))
#define TW_Y_MIN ((TW_Y)(TW_Y_IS_SIGNED ? (uint64_t)1 << TW_Y_BITS : 0))
/* The first number that is too large: a power of two, hence exact. */
#define TW_Y_END (2.0 * (double)((uint64_t)1 << (TW_Y_BITS - 1)))

static inline TW_Y tw_saturate(double x) {
  if (x != x) return 0;
  if (x >= TW_Y_END) return TW_Y_MAX;
  if (x < (TW_Y_IS_SIGNED ? -TW_Y_END : 0.0)) return TW_Y_MIN;
  return (TW_Y)x;
}

#endif
