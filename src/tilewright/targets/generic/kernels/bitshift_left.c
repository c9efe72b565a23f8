/* y = a << b, broadcast; 0 where b is not between 0 and the width */
#define TW_INTEGERS_ONLY
#include "binary_kernel.h"

TW_BINARY((uint64_t)b < 8 * sizeof(TW_Y) ? (uint64_t)a << b : 0)
