/* y = x * clamp(x / 6 + 1 / 2, 0, 1); all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_hardswish_blocks
#endif

#include "function_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)p; (void)room;
  TW_SET("ft3", TW_ONE_BITS);
  TW_SET("ft4", 0);
  TW_SET("ft5", 0x3e2aaaab); /* 1 / 6 */
  TW_SET("ft6", 0x3f000000); /* 1 / 2 */
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  (void)room;
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFMUL_R, "f16", "f8", "f5") TW_WITH(TW_VFADD_R, "f16", "f16", "f6") TW_WITH(TW_VFMAX_R, "f16", "f16", "f4")
            TW_WITH(TW_VFMIN_R, "f16", "f16", "f3") TW_BOTH(TW_VFMUL, "f8", "f8", "f16"));
  tw_store_x(y);
}

#include "unary_blocks.h"
