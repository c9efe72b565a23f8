/* y = max(x, 0); NaN stays NaN, which clang's vectors take for smaller than zero */
#include "unary_kernel.h"

#include "nan.h"

TW_UNARY(x > 0 || TW_IS_NAN(x) ? x : 0)
