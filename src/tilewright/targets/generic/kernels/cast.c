/* y = x in another type; floats truncate toward zero and saturate, integers wrap around */
#include "unary_kernel.h"
#include "saturate.h"

#if TW_X_IS_FLOAT && !TW_Y_IS_FLOAT
TW_UNARY(tw_saturate((double)x))
#else
TW_UNARY(x)
#endif
