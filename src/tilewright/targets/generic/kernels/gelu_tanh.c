/* y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY(0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))))
