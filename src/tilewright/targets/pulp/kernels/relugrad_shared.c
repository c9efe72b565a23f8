/* y = a where b is above 0, otherwise 0, broadcast; all cores together */
#include "shared_binary.h"

TW_SHARED_BINARY(b > 0 ? a : 0)
