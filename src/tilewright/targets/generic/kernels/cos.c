/* y = cos(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(cosf(x))
