/* y = x, a bfloat16, as a float */
#ifndef TW_NAME
#define TW_NAME tw_cast_from_bfloat16
#define TW_X uint16_t
#define TW_Y float
#endif

#include "half.h"
#include "unary_kernel.h"

TW_UNARY(tw_from_bfloat16(x))
