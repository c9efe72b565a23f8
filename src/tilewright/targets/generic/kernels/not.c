/* y = not x, of truth values (0 and 1) */
#define TW_INTEGERS_ONLY
#include "unary_kernel.h"

TW_UNARY(!x)
