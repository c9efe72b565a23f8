/* y = atan(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(atanf(x))
