/* y = e^x */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(expf(x))
