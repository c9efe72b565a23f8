/* y = sinh(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(sinhf(x))
