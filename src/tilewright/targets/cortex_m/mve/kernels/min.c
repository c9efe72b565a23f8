/* y = min(a, b), broadcast; NaN if either is */
#include "binary_kernel.h"

#include "nan.h"

TW_BINARY(b > a || TW_IS_NAN(a) ? a : b)
