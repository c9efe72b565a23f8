/* y = clamp(round((a * mul_a + b * mul_b + offset) / 2^shift) + zero_point), where 32 bits hold the sum; broadcast */
#include "qlinearadd.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_mve
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_mve.h"

typedef struct {
  tw_vector_limits limits;
  int32x4_t shift; /* to the left */
  int32x4_t even;  /* 1 where halves go to the even number, otherwise up */
  int32_t mul_a, mul_b, offset;
} constants;

TW_ALWAYS constants prepare(const tw_qlinearadd_params *p) {
  const int is_even = p->requant.rounding == TW_HALF_EVEN && p->requant.shift > 0;
  const constants made = {tw_vector_limits_of(&p->requant), vdupq_n_s32(-p->requant.shift), vdupq_n_s32(is_even),
                          p->mul_a, p->mul_b, (int32_t)p->offset};
  return made;
}

/* Before an even number a half is less than one by the smallest step. */
TW_ALWAYS int32x4_t add(const constants *k, int32x4_t a, int32x4_t b) {
  const int32x4_t sum = vaddq_n_s32(vmlaq_n_s32(vmulq_n_s32(a, k->mul_a), b, k->mul_b), k->offset);
  const int32x4_t before_even = vbicq_s32(k->even, vshlq_s32(sum, k->shift));
  return tw_vector_limited(&k->limits, vrshlq_s32(vsubq_s32(sum, before_even), k->shift));
}

TW_BINARY_MVE(tw_qlinearadd_params, constants, prepare, add)
