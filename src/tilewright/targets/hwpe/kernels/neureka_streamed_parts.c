/* Depthwise convolutions by N-EUREKA with windows in parts of 3x3 taps, and with weights in L1; the cores copy the
 * image with its padding before, and add up and finish the results. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_streamed_parts
#define TW_GATHER tw_neureka_streamed_parts_gather
#define TW_FINISH tw_neureka_streamed_parts_finish
#define TW_X int8_t
#define TW_SCALE int32_t
#define TW_Y int8_t
#endif

#include "neureka_parts_call.h"
