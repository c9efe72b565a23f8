/* y = e^x, as the square of e^(x / 2): that is infinite and 0 where it should be; all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_exp_blocks
#endif

#include "function_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)p; 
  TW_SET("ft3", TW_ONE_BITS);
  TW_SET("ft4", 0xc2ae0000); /* -87 */
  TW_SET("ft5", 0x42b00000); /* 88 */
  TW_SET("ft6", 0x3f000000); /* 1 / 2 */
  tw_load_constants(room->power);
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFMUL_R, "f8", "f8", "f6") TW_WITH(TW_VFMAX_R, "f8", "f8", "f4") TW_WITH(TW_VFMIN_R, "f8", "f8", "f5"));
  tw_power(room);
  TW_EIGHTS(TW_BOTH(TW_VFMUL, "f8", "f8", "f8"));
  tw_store_x(y);
}

#include "unary_blocks.h"
