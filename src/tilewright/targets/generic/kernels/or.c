/* y = a or b of truth values (0 and 1), broadcast */
#define TW_INTEGERS_ONLY
#include "binary_kernel.h"

TW_BINARY(a | b)
