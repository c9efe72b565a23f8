/* y = max(x, 0); NaN stays NaN */
#include "unary_kernel.h"

#if TW_X_IS_FLOAT
TW_UNARY(tw_is_below(x, 0.0f) ? 0.0f : x)
#else
TW_UNARY(x > 0 ? x : 0)
#endif
