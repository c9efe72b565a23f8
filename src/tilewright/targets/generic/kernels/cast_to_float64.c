/* y = x, a float, as a double */
#ifndef TW_NAME
#define TW_NAME tw_cast_to_float64
#define TW_X float
#define TW_Y double
#endif

#include "unary_kernel.h"

TW_UNARY(x)
