/* y = x, a float, as a float16: to nearest, ties to even */
#ifndef TW_NAME
#define TW_NAME tw_cast_to_float16
#define TW_X float
#define TW_Y uint16_t
#endif

#include "half.h"
#include "unary_kernel.h"

TW_UNARY(tw_to_float16(x))
