/* y = x + beta below -alpha, x - beta above alpha, 0 between */
#include "unary_kernel.h"

TW_UNARY(x < -alpha ? x + beta : x > alpha ? x - beta : 0.0f)
