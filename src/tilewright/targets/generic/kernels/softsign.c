/* y = x / (1 + |x|) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(x / (1.0f + fabsf(x)))
