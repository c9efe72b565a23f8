/* y = acos(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(acosf(x))
