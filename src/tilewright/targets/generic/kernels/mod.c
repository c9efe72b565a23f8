/* y = a - b * floor(a / b), broadcast: the remainder has the sign of b; x mod 0 is 0 */
#define TW_INTEGERS_ONLY
#include "binary_kernel.h"

static inline TW_Y modulo(TW_Y a, TW_Y b) {
  /* Dividing by -1 has no rest, and overflows for the smallest integer. */
  if (b == 0 || (TW_Y_IS_SIGNED && b == (TW_Y)-1)) return 0;
  const TW_Y rest = (TW_Y)(a % b);
  return rest != 0 && (rest > 0) != (b > 0) ? (TW_Y)(rest + b) : rest;
}

TW_BINARY(modulo(a, b))
