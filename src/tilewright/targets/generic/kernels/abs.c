/* y = |x|; the smallest integer of a type stays as it is */
#include "unary_kernel.h"

#if TW_X_IS_FLOAT
#include <math.h>

TW_UNARY(fabsf(x))
#else
TW_UNARY(x > 0 ? x : (TW_Y)(0 - TW_WRAP(x)))
#endif
