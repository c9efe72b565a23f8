/* y = floor(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(floorf(x))
