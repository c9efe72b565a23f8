/* y = clamp(alpha * x + beta, 0, 1); all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_hardsigmoid_blocks
#endif

#include "function_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)room;
  TW_SET("ft3", TW_ONE_BITS);
  TW_SET("ft4", 0);
  __asm__ volatile("flw ft5, 0(%0)\n flw ft6, 0(%1)" : : "r"(&p->alpha), "r"(&p->beta) : "ft5", "ft6");
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  (void)room;
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFMUL_R, "f8", "f8", "f5") TW_WITH(TW_VFADD_R, "f8", "f8", "f6") TW_WITH(TW_VFMAX_R, "f8", "f8", "f4")
            TW_WITH(TW_VFMIN_R, "f8", "f8", "f3"));
  tw_store_x(y);
}

#include "unary_blocks.h"
