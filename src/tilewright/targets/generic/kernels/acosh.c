/* y = acosh(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(acoshf(x))
