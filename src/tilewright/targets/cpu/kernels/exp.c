/* y = e^x */
#include "fast_exp.h"
#include "unary_kernel.h"

TW_UNARY(tw_exp((float)x))
