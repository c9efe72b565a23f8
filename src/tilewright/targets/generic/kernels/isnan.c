/* y = whether x is not a number */
#include "unary_kernel.h"

TW_UNARY(x != x)
