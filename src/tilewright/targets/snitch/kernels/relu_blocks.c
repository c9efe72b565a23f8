/* y = max(x, 0); all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_relu_blocks
#endif

#include "function_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)p; (void)room;
  TW_SET("ft4", 0);
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  (void)room;
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFMAX_R, "f8", "f8", "f4"));
  tw_store_x(y);
}

#include "unary_blocks.h"
