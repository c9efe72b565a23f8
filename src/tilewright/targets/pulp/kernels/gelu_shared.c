/* y = x / 2 * (1 + erf(x / sqrt(2))); all cores together */
#include "functions_f32.h"
#include "shared_unary.h"

TW_SHARED_UNARY(tw_gelu(x))
