/* y = x * tanh(log(1 + e^x)) */
#include <math.h>

#include "softplus.h"
#include "unary_kernel.h"

TW_UNARY(x * tanhf(tw_softplus(x)))
