/* y = max(a, b), broadcast; NaN if either is */
#include "binary_kernel.h"

#include "nan.h"

TW_BINARY(a > b || TW_IS_NAN(a) ? a : b)
