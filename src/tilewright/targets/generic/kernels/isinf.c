/* y = whether x is infinite: negative infinity counts if alpha is 1, positive infinity if beta is 1 */
#include <math.h>

#include "unary_kernel.h"

TW_UNARY((alpha == 1.0f && x == -INFINITY) || (beta == 1.0f && x == INFINITY))
