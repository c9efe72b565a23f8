/* y = max(x, 0); NaN stays NaN; all cores together. Floats are compared as integers, which asks none of the units that two
 * cores share. */
#include "alone.h"
#include "four_elements.h"
#include "share_of_run.h"
#include "unary.h"
#include "xpulp.h"

#if TW_X_IS_FLOAT
/* The bits of negative numbers, without their sign, are at most those of infinity. */
enum { INFINITY_BITS = 0x7f800000 };

typedef union {
  float value;
  uint32_t bits;
} float_bits;
#endif

static inline TW_Y relu(TW_X x) {
#if TW_X_IS_FLOAT
  float_bits of;
  of.value = x;
  of.bits &= 0u - (uint32_t)(of.bits - 0x80000000u > INFINITY_BITS);
  return of.value;
#else
  return x > 0 ? x : 0;
#endif
}

#if TW_X_IS_FLOAT && TW_XPULP
/* Floats in a hardware loop, two at a time. Infinity is the largest without its sign that is not kept. */
#define MASK(x, d) "xor " d ", " x ", %[sign]\nsltu " d ", %[infinity], " d "\nneg " d ", " d "\n"
static void relu_pairs(const float *x, int32_t pairs, float *y) {
  int32_t x0, x1, m0, m1;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 12) TW_A_LW("%[x0]", "%[x]", "4") TW_A_LW("%[x1]", "%[x]", "4")
                       MASK("%[x0]", "%[m0]") MASK("%[x1]", "%[m1]")
                           "and %[x0], %[x0], %[m0]\nand %[x1], %[x1], %[m1]\n" TW_A_SW("%[x0]", "%[y]", "4")
                               TW_A_SW("%[x1]", "%[y]", "4") TW_A_END
                   : [x] "+r"(x), [y] "+r"(y), [x0] "=&r"(x0), [x1] "=&r"(x1), [m0] "=&r"(m0), [m1] "=&r"(m1)
                   : [pairs] "r"(pairs), [infinity] "r"(INFINITY_BITS), [sign] "r"(INT32_MIN)
                   : "memory");
}
#endif

void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {
  tw_share share = tw_share_of_run(params->count, sizeof(TW_Y));
#if TW_X_IS_FLOAT && TW_XPULP
  const int32_t pairs = (share.end - share.first) >> 1;
  if (pairs > 0) relu_pairs(x + share.first, pairs, y + share.first);
  share.first += 2 * pairs;
#endif
  TW_FOUR_ELEMENTS(relu, x, y, share);
}
