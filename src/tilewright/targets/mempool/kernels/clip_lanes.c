/* y = min(max(x, low), high); bytes four at a time; all cores together */
#include "clip.h"

#ifndef TW_NAME
#define TW_NAME tw_clip_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "lane_elements.h"

void TW_NAME(const tw_clip_params *params, const TW_X *x, TW_Y *y) {
  tw_bound(x, (TW_X)params->int_low, (TW_X)params->int_high, y, params->count);
}
