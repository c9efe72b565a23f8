/* y = max(a, b), broadcast; NaN if either is; all cores together */
#include "shared_binary.h"

#if TW_Y_IS_FLOAT
TW_SHARED_BINARY(a > b || a != a ? a : b)
#else
TW_SHARED_BINARY(a > b ? a : b)
#endif
