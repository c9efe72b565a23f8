/* y = 1, 0 or -1, as x is above, at or below zero; NaN stays NaN */
#include "unary_kernel.h"

#if TW_X_IS_FLOAT
TW_UNARY(x > 0.0f ? 1.0f : tw_is_below(x, 0.0f) ? -1.0f : x)
#else
TW_UNARY(x > 0 ? 1 : x == 0 ? 0 : -1)
#endif
