/* y = a + b of floats, broadcast along rows; all cores together */
#ifndef TW_NAME
#define TW_NAME tw_add_streams
#endif

#include "stream_binary.h"

TW_STREAM_BINARY(0x41, a + b)
