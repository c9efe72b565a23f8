/* y = log(1 + e^x) */
#include "softplus.h"
#include "unary_kernel.h"

TW_UNARY(tw_softplus(x))
