/* y = ceil(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(ceilf(x))
