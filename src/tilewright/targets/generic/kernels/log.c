/* y = log(x), natural */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(logf(x))
