/* y = x / (1 + e^(-alpha * x)); all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_swish_blocks
#endif

#include "logistic_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)room;
  tw_logistic_constants();
  __asm__ volatile("flw ft6, 0(%0)" : : "r"(&p->alpha) : "ft6");
  __asm__ volatile("fneg.s ft6, ft6" : : : "ft6");
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  tw_load_constants(room->power);
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFMUL_R, "f8", "f8", "f6") TW_WITH(TW_VFMAX_R, "f8", "f8", "f4") TW_WITH(TW_VFMIN_R, "f8", "f8", "f5"));
  tw_logistic(room);
  tw_load_x(x);
  TW_EIGHTS(TW_BOTH(TW_VFMUL, "f8", "f8", "f16"));
  tw_store_x(y);
}

#include "unary_blocks.h"
