/* y = a - b * trunc(a / b), broadcast: the remainder has the sign of a; of integers, x mod 0 is 0 */
#include <math.h>

#include "binary_kernel.h"

#if TW_Y_IS_FLOAT
TW_BINARY(fmodf(a, b))
#else
/* Dividing by -1 has no rest, and overflows for the smallest integer. */
TW_BINARY(b == 0 || (TW_Y_IS_SIGNED && b == (TW_Y)-1) ? 0 : a % b)
#endif
