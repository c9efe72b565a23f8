/* y = asin(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(asinf(x))
