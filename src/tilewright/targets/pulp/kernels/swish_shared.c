/* y = x * sigmoid(alpha * x); all cores together */
#include "functions_f32.h"
#include "shared_unary.h"

TW_SHARED_UNARY(x * tw_sigmoid(alpha * x))
