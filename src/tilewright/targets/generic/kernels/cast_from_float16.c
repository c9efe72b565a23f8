/* y = x, a float16, as a float */
#ifndef TW_NAME
#define TW_NAME tw_cast_from_float16
#define TW_X uint16_t
#define TW_Y float
#endif

#include "half.h"
#include "unary_kernel.h"

TW_UNARY(tw_from_float16(x))
