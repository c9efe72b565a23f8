/* y = x * clamp(x / 6 + 1 / 2, 0, 1) */
#include "unary_kernel.h"

TW_UNARY(x * tw_unit(x / 6.0f + 0.5f))
