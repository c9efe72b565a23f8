/* y = x, or alpha * x where x is negative */
#include "unary_kernel.h"

TW_UNARY(x < 0.0f ? alpha * x : x)
