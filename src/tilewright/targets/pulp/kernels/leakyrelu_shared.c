/* y = x, or alpha * x where x is negative; all cores together */
#include "shared_unary.h"

TW_SHARED_UNARY(x < 0.0f ? alpha * x : x)
