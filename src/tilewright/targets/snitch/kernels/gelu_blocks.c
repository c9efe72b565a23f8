/* y = x / 2 * (1 + erf(x / sqrt(2))) = max(x, 0) - s / 2 * e^p(s), where s is the size of x; all cores together. With the polynomial's
 * power nothing cancels on either side of 0. */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_gelu_blocks
#endif

#include "function_blocks.h"

/* Of p, highest power first but for the last one. */
static const uint32_t coefficients[8] = {0x34879a0f, 0xb6b37d6a, 0x383f4c71, 0xb93d8437, 0xb759bb6d, 0x3b9e08ba, 0xbd14e693, 0xbea2f915};

static inline void tw_constants(const tw_unary_params *p, tw_room *room) {
  (void)p;
  for (int i = 0; i < 8; i++) ((volatile uint32_t *)room->more)[i] = coefficients[i];
  TW_SET("ft3", TW_ONE_BITS);
  TW_SET("ft4", 0xbf4c422d); /* the last coefficient */
  TW_SET("ft5", 0x40e00000); /* 7 */
  TW_SET("ft6", 0xbf000000); /* -1 / 2 */
  TW_SET("ft7", 0);
}

#define FURTHER(coefficient) TW_WITH(TW_VFADD_R, "f16", "f16", coefficient) TW_BOTH(TW_VFMUL, "f16", "f16", "f8")

static inline void tw_block(const float *x, float *y, tw_room *room) {
  tw_load_constants(room->more);
  tw_load_x(x);
  TW_EIGHTS(TW_BOTH(TW_VFSGNJX, "f8", "f8", "f8") TW_WITH(TW_VFMIN_R, "f8", "f8", "f5") TW_WITH(TW_VFMUL_R, "f16", "f8", "f24")
            FURTHER("f25") FURTHER("f26") FURTHER("f27") FURTHER("f28") FURTHER("f29") FURTHER("f30") FURTHER("f31")
            TW_WITH(TW_VFADD_R, "f16", "f16", "f4") TW_BOTH(TW_VFMUL, "f8", "f8", "f16"));
  tw_load_constants(room->power);
  tw_power(room);
  tw_load_z(x);
  TW_EIGHTS(TW_BOTH(TW_VFSGNJX, "f24", "f16", "f16") TW_WITH(TW_VFMIN_R, "f24", "f24", "f5") TW_WITH(TW_VFMUL_R, "f24", "f24", "f6")
            TW_WITH(TW_VFMAX_R, "f16", "f16", "f7") TW_BOTH(TW_VFMAC, "f16", "f24", "f8"));
  tw_store_z(y);
}

#include "unary_blocks.h"
