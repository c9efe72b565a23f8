/* y = erf(x), the error function; all cores together */
#include "functions_f32.h"
#include "shared_unary.h"

TW_SHARED_UNARY(tw_erf(x))
