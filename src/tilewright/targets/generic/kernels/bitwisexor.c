/* y = a ^ b, bit by bit, broadcast */
#define TW_INTEGERS_ONLY
#include "binary_kernel.h"

TW_BINARY(a ^ b)
