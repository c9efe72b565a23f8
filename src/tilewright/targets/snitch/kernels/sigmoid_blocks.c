/* y = 1 / (1 + e^-x); beyond 80 it is no longer told from 80; all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_sigmoid_blocks
#endif

#include "logistic_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)p; (void)room;
  tw_logistic_constants();
  TW_SET("ft6", 0xbf800000); /* -1 */
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  tw_load_constants(room->power);
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFMUL_R, "f8", "f8", "f6") TW_WITH(TW_VFMAX_R, "f8", "f8", "f4") TW_WITH(TW_VFMIN_R, "f8", "f8", "f5"));
  tw_logistic(room);
  tw_store_z(y);
}

#include "unary_blocks.h"
