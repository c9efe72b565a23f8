/* y = a * (1 + erf(b / sqrt(2))) / 2 + a * b * exp(-b^2 / 2) / sqrt(2 * pi), broadcast */
#include <math.h>

#include "binary_kernel.h"

TW_BINARY(a * (0.5f + 0.5f * erff(b * 0.70710678f) + 0.39894228f * b * expf(-0.5f * b * b)))
