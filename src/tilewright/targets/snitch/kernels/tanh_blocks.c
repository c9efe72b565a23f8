/* y = tanh(x) = t / (t + 2), where t = e^2x - 1; all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_tanh_blocks
#endif

#include "function_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)p; (void)room;
  TW_SET("ft3", TW_ONE_BITS);
  TW_SET("ft4", 0xc1200000); /* -10 */
  TW_SET("ft5", 0x41200000); /* 10 */
  TW_SET_TWICE("ft7", 0x40000000); /* 2 */
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  tw_load_constants(room->power);
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFMAX_R, "f8", "f8", "f4") TW_WITH(TW_VFMIN_R, "f8", "f8", "f5") TW_BOTH(TW_VFADD, "f8", "f8", "f8"));
  tw_power_less_one(room);
  tw_store_x(y);
  TW_EIGHTS(TW_WITH(TW_VFADD_R, "f8", "f8", "f7"));
  tw_reciprocals(room);
  tw_load_x(y);
  TW_EIGHTS(TW_BOTH(TW_VFMUL, "f8", "f8", "f16"));
  tw_store_x(y);
}

#include "unary_blocks.h"
