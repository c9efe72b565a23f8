/* y = sin(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(sinf(x))
