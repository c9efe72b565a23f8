/* y = 1 / (1 + e^-x); where e^-x overflows to infinity, y is 0, as it should be */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(1.0f / (1.0f + expf(-x)))
