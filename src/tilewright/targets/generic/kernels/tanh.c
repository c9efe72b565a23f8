/* y = tanh(x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(tanhf(x))
