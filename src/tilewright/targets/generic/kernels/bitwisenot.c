/* y = ~x, bit by bit */
#define TW_INTEGERS_ONLY
#include "unary_kernel.h"

TW_UNARY(~x)
