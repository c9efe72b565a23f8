/* y = x / (1 + e^-u), where u = sqrt(8 / pi) * (x + 0.044715 * x^3); all cores together */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_gelu_tanh_blocks
#endif

#include "logistic_blocks.h"

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)p;
  tw_logistic_constants();
  TW_SET("ft6", 0xbd922279); /* of x^3 */
  ((volatile uint32_t *)room->more)[0] = 0xbfcc422a; /* of x */
}

static inline void tw_block(const float *x, float *y, tw_room *room) {
  tw_load_constants(room->power);
  tw_load_x(x);
  __asm__ volatile("flw f31, 0(%0)" : : "r"(room->more) : "f31");
  TW_EIGHTS(TW_BOTH(TW_VFMUL, "f16", "f8", "f8") TW_WITH(TW_VFMUL_R, "f16", "f16", "f6") TW_WITH(TW_VFADD_R, "f16", "f16", "f31")
            TW_BOTH(TW_VFMUL, "f8", "f8", "f16") TW_WITH(TW_VFMAX_R, "f8", "f8", "f4") TW_WITH(TW_VFMIN_R, "f8", "f8", "f5"));
  tw_load_constants(room->power);
  tw_logistic(room);
  tw_load_x(x);
  TW_EIGHTS(TW_BOTH(TW_VFMUL, "f8", "f8", "f16"));
  tw_store_x(y);
}

#include "unary_blocks.h"
