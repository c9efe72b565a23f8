/* y = 1, 0 or -1, as x is above, at or below zero; NaN stays NaN, which clang's vectors take for smaller than zero */
#include "unary_kernel.h"

#include "nan.h"

#if TW_X_IS_FLOAT
TW_UNARY(x > 0.0f ? 1.0f : TW_IS_NAN(x) || x == 0.0f ? x : -1.0f)
#else
TW_UNARY(x > 0 ? 1 : x == 0 ? 0 : -1)
#endif
