/* y = clamp(alpha * x + beta, 0, 1); all cores together */
#include "shared_unary.h"
#include "unary_kernel.h"

TW_SHARED_UNARY(tw_unit(alpha * x + beta))
