/* y = beta * (x, or alpha * (e^x - 1) where x is negative) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(beta * (x < 0.0f ? alpha * expm1f(x) : x))
