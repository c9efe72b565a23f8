/* y = asinh(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(asinhf(x))
