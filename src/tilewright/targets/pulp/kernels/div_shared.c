/* y = a / b, broadcast; all cores together */
#include "shared_binary.h"

TW_SHARED_BINARY(a / b)
