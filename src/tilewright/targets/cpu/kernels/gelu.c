/* y = x / 2 * (1 + erf(x / sqrt(2))) */
#include "fast_gelu.h"
#include "unary_kernel.h"

TW_UNARY(tw_gelu((float)x))
