/* y = whether x is not 0 */
#include "unary_kernel.h"

TW_UNARY(x != 0)
