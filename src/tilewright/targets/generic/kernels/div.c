/* y = a / b, broadcast; integers truncate toward zero, x / 0 is 0 and the smallest integer / -1 wraps around */
#include "binary_kernel.h"

#if TW_Y_IS_FLOAT
TW_BINARY(a / b)
#else
/* Operands of other types (in the integer dialect) become TW_Y first. */
static inline TW_Y divide(TW_Y a, TW_Y b) {
  if (b == 0) return 0;
  if (TW_Y_IS_SIGNED && b == (TW_Y)-1) return (TW_Y)(0 - TW_WRAP(a));
  return (TW_Y)(a / b);
}

TW_BINARY(divide((TW_Y)a, (TW_Y)b))
#endif
