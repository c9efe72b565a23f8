/* y = clamp(alpha * x + beta, 0, 1) */
#include "unary_kernel.h"

TW_UNARY(tw_unit(alpha * x + beta))
