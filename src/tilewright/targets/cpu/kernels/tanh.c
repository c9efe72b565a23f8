/* y = tanh(x) */
#include "fast_functions.h"
#include "unary_kernel.h"

TW_UNARY(tw_tanh((float)x))
