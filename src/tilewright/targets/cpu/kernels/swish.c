/* y = x * sigmoid(alpha * x) */
#include "curves.h"
#include "unary_kernel.h"

TW_UNARY(tw_curve_swish((float)x, alpha))
