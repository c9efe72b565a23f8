/* y = a - b * floor(a / b), broadcast: the rest has the sign of b; of integers, x mod 0 is 0 */
#include "binary_kernel.h"

#if TW_Y_IS_FLOAT
#include <math.h>
#endif

static inline TW_Y modulo(TW_Y a, TW_Y b) {
#if TW_Y_IS_FLOAT
  const TW_Y rest = fmodf(a, b);
  if (rest == 0.0f) return copysignf(rest, b);
#else
  /* Dividing by -1 has no rest, and overflows for the smallest integer. */
  if (b == 0 || (TW_Y_IS_SIGNED && b == (TW_Y)-1)) return 0;
  const TW_Y rest = (TW_Y)(a % b);
  if (rest == 0) return 0;
#endif
  return (rest > 0) != (b > 0) ? (TW_Y)(rest + b) : rest;
}

TW_BINARY(modulo(a, b))
