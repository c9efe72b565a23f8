/* y = atanh(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(atanhf(x))
