/* y = min(a, b), broadcast; NaN if either is */
#include "binary_kernel.h"

#if TW_Y_IS_FLOAT
TW_BINARY(a < b || a != a ? a : b)
#else
TW_BINARY(a < b ? a : b)
#endif
