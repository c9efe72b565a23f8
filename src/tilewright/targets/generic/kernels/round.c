/* y = x rounded to the nearest integer, halves to the even one (the rounding mode that C starts with) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(rintf(x))
