/* y = tan(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(tanf(x))
