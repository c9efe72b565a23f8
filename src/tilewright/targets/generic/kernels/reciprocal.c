/* y = 1 / x */
#include "unary_kernel.h"

TW_UNARY(1.0f / x)
