/* y = a < b, broadcast */
#include "binary_kernel.h"

TW_BINARY(a < b)
