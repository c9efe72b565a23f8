/* y = cosh(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(coshf(x))
