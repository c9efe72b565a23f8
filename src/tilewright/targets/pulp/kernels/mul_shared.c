/* y = a * b, broadcast; integers wrap around; all cores together */
#include "shared_binary.h"

TW_SHARED_BINARY(TW_WRAP(a) * TW_WRAP(b))
