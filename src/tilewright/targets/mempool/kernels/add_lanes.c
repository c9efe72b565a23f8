/* y = a + b; integers wrap around, broadcast; bytes four at a time; all cores together */
#ifndef TW_NAME
#define TW_NAME tw_add_lanes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "lane_pairs.h"
#include "int32.h"

#define OF_WORDS(a, b) TW_PACKED(tw_x_add4, tw_x_add4, tw_add32, a, b)

TW_LANE_PAIRS(OF_WORDS, tw_add32)
