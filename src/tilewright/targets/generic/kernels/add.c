/* y = a + b, broadcast; integers wrap around */
#include "binary_kernel.h"

TW_BINARY(TW_WRAP(a) + TW_WRAP(b))
