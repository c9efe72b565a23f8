/* Sums of two tensors of bytes as TensorFlow Lite adds, every product rounded twice. y may lie in the place of an operand. */
#include "tfliteadd_bytes.h"

#include <arm_neon.h>

#include "sums_neon.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_tfliteadd_bytes
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_IS_UNSIGNED(type) ((type)-1 > (type)0)

typedef struct {
  int32x4_t mul, left, right;
  int32_t ties_up;
} scale;

static scale scale_of(int32_t mul, int32_t exponent, int32_t rounding) {
  const scale made = {vdupq_n_s32(mul), vdupq_n_s32(exponent > 0 ? exponent : 0), vdupq_n_s32(exponent < 0 ? exponent : 0),
                      rounding == TW_DOUBLE_UP};
  return made;
}

static inline int32x4_t scaled(const scale *s, int32x4_t x) {
  int32x4_t product = vqrdmulhq_s32(vshlq_s32(x, s->left), s->mul);
  /* Ties of negative numbers go down, where they are shifted at all. */
  if (!s->ties_up) product = vqaddq_s32(product, vshrq_n_s32(vandq_s32(product, s->right), 31));
  return vrshlq_s32(product, s->right);
}

typedef struct {
  scale of_a, of_b, of_sum;
  int16x8_t zero_a, zero_b, zero;
  int32x4_t left;
  int8x16_t low, high;
} sums;

static sums sums_of(const tw_tfliteadd_params *p) {
  const int32_t rounding = p->requant.rounding;
  const sums made = {scale_of(p->first.mul, p->first.exponent, rounding),
                     scale_of(p->second.mul, p->second.exponent, rounding),
                     scale_of(p->mul, p->exponent, rounding),
                     vdupq_n_s16((int16_t)p->first.zero),
                     vdupq_n_s16((int16_t)p->second.zero),
                     vdupq_n_s16((int16_t)p->requant.zero_point),
                     vdupq_n_s32(p->left),
                     vdupq_n_s8((int8_t)p->requant.low),
                     vdupq_n_s8((int8_t)p->requant.high)};
  return made;
}

static inline int16x4_t add_four(const sums *s, int16x4_t a, int16x4_t b) {
  const int32x4_t first = scaled(&s->of_a, vshlq_s32(vmovl_s16(a), s->left));
  const int32x4_t second = scaled(&s->of_b, vshlq_s32(vmovl_s16(b), s->left));
  return vqmovn_s32(scaled(&s->of_sum, vaddq_s32(first, second)));
}

static inline int16x8_t add_eight(const sums *s, int16x8_t a, int16x8_t b) {
  const int16x8_t from_a = vsubq_s16(a, s->zero_a), from_b = vsubq_s16(b, s->zero_b);
  const int16x4_t low = add_four(s, vget_low_s16(from_a), vget_low_s16(from_b));
  return vqaddq_s16(vcombine_s16(low, add_four(s, vget_high_s16(from_a), vget_high_s16(from_b))), s->zero);
}

static inline void add_sixteen(const sums *s, const TW_A *a, const TW_B *b, TW_Y *y) {
  const int is_a = TW_IS_UNSIGNED(TW_A), is_b = TW_IS_UNSIGNED(TW_B);
  const int16x8_t low = add_eight(s, tw_bytes_wide(is_a, a, 0), tw_bytes_wide(is_b, b, 0));
  const int16x8_t high = add_eight(s, tw_bytes_wide(is_a, a, 1), tw_bytes_wide(is_b, b, 1));
  tw_store_sixteen(TW_IS_UNSIGNED(TW_Y), low, high, s->low, s->high, y);
}

void TW_NAME(const tw_tfliteadd_bytes_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const sums made = sums_of(&params->sum);
  int32_t i = 0;
  for (; i + 16 <= params->count; i += 16) add_sixteen(&made, a + i, b + i, y + i);
  for (; i < params->count; i++) y[i] = (TW_Y)tw_add_scaled(&params->sum, a[i], b[i]);
}
