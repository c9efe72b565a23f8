/* y = max(x, 0); bytes four at a time; all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_relu_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "lane_elements.h"

#define LARGEST ((TW_X)(sizeof(TW_X) == 4 ? 0x7fffffff : TW_IS_SIGNED(TW_X) ? 127 : 255))

void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) { tw_bound(x, 0, LARGEST, y, params->count); }
