/* y = sqrt(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(sqrtf(x))
