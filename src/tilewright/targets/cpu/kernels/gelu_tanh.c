/* y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
#include "curves.h"
#include "unary_kernel.h"

TW_UNARY(tw_curve_gelu_tanh((float)x, alpha))
