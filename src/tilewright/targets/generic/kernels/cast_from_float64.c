/* y = x, a double, as a float: to nearest, ties to even */
#ifndef TW_NAME
#define TW_NAME tw_cast_from_float64
#define TW_X double
#define TW_Y float
#endif

#include "unary_kernel.h"

TW_UNARY(x)
