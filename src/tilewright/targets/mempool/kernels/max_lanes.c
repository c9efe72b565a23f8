/* y = max(a, b), broadcast; bytes four at a time; all cores together */
#ifndef TW_NAME
#define TW_NAME tw_max_lanes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "lane_pairs.h"

#define OF_WORDS(a, b) TW_PACKED(tw_x_max4, tw_x_maxu4, tw_x_max, a, b)

TW_LANE_PAIRS(OF_WORDS, tw_x_max)
