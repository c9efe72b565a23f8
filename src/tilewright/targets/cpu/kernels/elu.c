/* y = x, or alpha * (e^x - 1) where x is negative */
#include "fast_expm1.h"
#include "unary_kernel.h"

TW_UNARY(tw_elu((float)x, alpha))
