/* y = a, or a * b where a is negative, broadcast; integers wrap around */
#include "binary_kernel.h"

TW_BINARY(a < 0 ? (TW_Y)(TW_WRAP(a) * TW_WRAP(b)) : a)
