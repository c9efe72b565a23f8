/* y = a >> b, broadcast; all bits are gone where b is the width or more */
#define TW_INTEGERS_ONLY
#include "binary_kernel.h"

TW_BINARY(b < 8 * sizeof(TW_A) ? a >> b : 0)
