/* y = a where b is above 0, otherwise 0, broadcast */
#include "binary_kernel.h"

TW_BINARY(b > 0 ? a : 0)
