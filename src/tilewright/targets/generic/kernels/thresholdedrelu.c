/* y = x where it is above alpha, else 0 */
#include "unary_kernel.h"

TW_UNARY(x > alpha ? x : 0.0f)
