/* y = a - b of floats, broadcast along rows; all cores together */
#ifndef TW_NAME
#define TW_NAME tw_sub_streams
#endif

#include "stream_binary.h"

TW_STREAM_BINARY(0x42, a - b)
