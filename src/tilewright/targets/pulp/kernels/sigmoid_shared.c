/* y = 1 / (1 + e^-x); all cores together */
#include "functions_f32.h"
#include "shared_unary.h"

TW_SHARED_UNARY(tw_sigmoid(x))
