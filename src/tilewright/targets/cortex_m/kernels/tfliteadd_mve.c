/* y = requant(scaled(a) + scaled(b)), as TensorFlow Lite adds, in TW_DOUBLE without exponents above 0; broadcast */
#include "tfliteadd.h"

#ifndef TW_NAME
#define TW_NAME tw_tfliteadd_mve
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "binary_mve.h"

typedef struct {
  tw_vector_limits limits;
  int32x4_t left, exponent_a, exponent_b, exponent;
  int32_t zero_a, zero_b, mul_a, mul_b, mul;
} constants;

TW_ALWAYS constants prepare(const tw_tfliteadd_params *p) {
  const constants made = {tw_vector_limits_of(&p->requant), vdupq_n_s32(p->left), vdupq_n_s32(p->first.exponent),
                          vdupq_n_s32(p->second.exponent), vdupq_n_s32(p->exponent), p->first.zero, p->second.zero,
                          p->first.mul, p->second.mul, p->mul};
  return made;
}

TW_ALWAYS int32x4_t doubled(int32x4_t x, int32_t mul, int32x4_t exponent) {
  const int32x4_t high = vqrdmulhq_n_s32(x, mul);
  return vrshlq_s32(vqaddq_s32(high, vshrq_n_s32(vandq_s32(high, exponent), 31)), exponent);
}

TW_ALWAYS int32x4_t add(const constants *k, int32x4_t a, int32x4_t b) {
  const int32x4_t first = doubled(vshlq_s32(vsubq_n_s32(a, k->zero_a), k->left), k->mul_a, k->exponent_a);
  const int32x4_t second = doubled(vshlq_s32(vsubq_n_s32(b, k->zero_b), k->left), k->mul_b, k->exponent_b);
  return tw_vector_limited(&k->limits, doubled(vaddq_s32(first, second), k->mul, k->exponent));
}

TW_BINARY_MVE(tw_tfliteadd_params, constants, prepare, add)
