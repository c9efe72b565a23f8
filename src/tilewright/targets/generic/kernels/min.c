/* y = min(a, b), broadcast; NaN if either is */
#include "binary_kernel.h"
#include "nan.h"

#if TW_Y_IS_FLOAT
TW_BINARY(tw_is_below(a, b) || TW_IS_NAN(a) ? a : b)
#else
TW_BINARY(a < b ? a : b)
#endif
