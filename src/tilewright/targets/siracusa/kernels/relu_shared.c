/* y = max(x, 0); NaN stays NaN; all cores together */
#include "shared_unary.h"

#if TW_X_IS_FLOAT
TW_SHARED_UNARY(x < 0.0f ? 0.0f : x)
#else
TW_SHARED_UNARY(x > 0 ? x : 0)
#endif
