/* y = -x; integers wrap around */
#include "unary_kernel.h"

#if TW_X_IS_FLOAT
TW_UNARY(-x)
#else
TW_UNARY(0 - TW_WRAP(x))
#endif
