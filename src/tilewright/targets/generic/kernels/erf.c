/* y = erf(x), the error function */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(erff(x))
