/* y = a^b, broadcast. Integers to the power of integers wrap around (and truncate, where the power is negative);
 * integers to the power of floats truncate and saturate. */
#include <math.h>

#include "binary_kernel.h"
#include "saturate.h"

#if TW_Y_IS_FLOAT
TW_BINARY(powf(a, (float)b))
#elif TW_B_IS_FLOAT
/* A library's pow() may be a rounding step below a whole number: truncated, 9^0.5 would be 2. Of large numbers, such a
 * step is as long as what is truncated. */
static inline TW_Y power(TW_Y a, TW_B b) {
  const double found = pow((double)a, (double)b), nearest = floor(found + 0.5);
  const int is_close = fabs(found) < 1e12 && fabs(found - nearest) <= fabs(found) * 1e-14;
  return tw_saturate(is_close ? nearest : found);
}

TW_BINARY(power(a, b))
#else
static inline TW_Y power(TW_Y a, TW_B b) {
  if (!(b > 0) && b != 0) {
    /* 1 / a^-b is 0 unless a is 1 or -1. */
    if (a == 1) return 1;
    if (TW_Y_IS_SIGNED && a == (TW_Y)-1) return (uint64_t)b & 1 ? a : 1;
    return 0;
  }
  uint64_t result = 1, square = (uint64_t)a;
  for (uint64_t left = (uint64_t)b; left != 0; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return (TW_Y)result;
}

TW_BINARY(power(a, b))
#endif
