/* y = a >> b, broadcast; copies of the sign bit (or 0) where b is not between 0 and the width */
#define TW_INTEGERS_ONLY
#include "binary_kernel.h"

#define BITS (8 * sizeof(TW_Y))

TW_BINARY((uint64_t)b < BITS ? a >> b : TW_Y_IS_SIGNED ? a >> (BITS - 1) : 0)
