/* y = 1 / (1 + e^-x); beyond 80 it is no longer told from 80; all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_sigmoid_blocks
#endif

#include "function_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)p; (void)room;
  TW_SET("ft3", TW_ONE_BITS);
  TW_SET("ft4", 0xc2a00000); /* -80 */
  TW_SET("ft5", 0x42a00000); /* 80 */
  TW_SET("ft6", 0xbf800000); /* -1 */
  TW_SET_TWICE("ft7", 0x40000000); /* 2 */
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  tw_load_constants(room->power);
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFMUL_R, "f8", "f8", "f6") TW_WITH(TW_VFMAX_R, "f8", "f8", "f4") TW_WITH(TW_VFMIN_R, "f8", "f8", "f5"));
  tw_power(room);
  TW_EIGHTS(TW_WITH(TW_VFADD_R, "f8", "f8", "f3"));
  tw_reciprocals(room);
  tw_store_z(y);
}

#include "unary_blocks.h"
