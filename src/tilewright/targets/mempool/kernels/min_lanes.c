/* y = min(a, b), broadcast; bytes four at a time; all cores together */
#ifndef TW_NAME
#define TW_NAME tw_min_lanes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "lane_pairs.h"

#define OF_WORDS(a, b) TW_PACKED(tw_x_min4, tw_x_minu4, tw_x_min, a, b)

TW_LANE_PAIRS(OF_WORDS, tw_x_min)
