/* y = 1 / (1 + e^-x) */
#include "fast_functions.h"
#include "unary_kernel.h"

TW_UNARY(tw_sigmoid((float)x))
