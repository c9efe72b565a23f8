/* y = x / 2 * (1 + tanh(z)) = x / (1 + e^-2z), z = sqrt(2 / pi) * (x + 0.044715 * x^3); all cores together */
#include "functions_f32.h"
#include "shared_unary.h"

TW_SHARED_UNARY(x * tw_sigmoid(x * (1.59576912f + 0.0713548163f * x * x)))
