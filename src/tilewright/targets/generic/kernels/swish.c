/* y = x * sigmoid(alpha * x) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(x / (1.0f + expf(-alpha * x)))
