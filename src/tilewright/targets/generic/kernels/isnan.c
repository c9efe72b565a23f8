/* y = whether x is not a number */
#include "nan.h"
#include "unary_kernel.h"

TW_UNARY(tw_is_nan(x))
