/* y = x / 2 * (1 + erf(x / sqrt(2))) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(0.5f * x * (1.0f + erff(x * 0.70710678f)))
