/* Sixteen floats as bytes: rounded quotients, ties to even, with a zero point. */
#ifndef TW_QUANTISE_NEON_H
#define TW_QUANTISE_NEON_H

#include <arm_neon.h>
#include <stdint.h>

typedef struct {
  float32x4_t divisor, inverse, least, most; /* limits of what is divided, a unit beyond those of results */
  int16x8_t zero;
} tw_divider;

static inline tw_divider tw_divider_of(float divisor, float low, float high, int32_t zero) {
  const tw_divider made = {vdupq_n_f32(divisor), vdupq_n_f32(1.0f / divisor), vdupq_n_f32((low - 1.0f) * divisor),
                           vdupq_n_f32((high + 1.0f) * divisor), vdupq_n_s16((int16_t)zero)};
  return made;
}

static inline int32x4_t tw_quotients(const tw_divider *d, const float *x) {
  const float32x4_t near = vminnmq_f32(vmaxnmq_f32(vld1q_f32(x), d->least), d->most);
  const float32x4_t product = vmulq_f32(near, d->inverse), rest = vfmsq_f32(near, product, d->divisor);
  return vcvtnq_s32_f32(vfmaq_f32(product, rest, d->inverse));
}

/* Saturates at the limits of the type. */
static inline void tw_quantise_sixteen(const tw_divider *d, int is_unsigned, const float *x, void *y) {
  const int32x4_t x0 = tw_quotients(d, x), x1 = tw_quotients(d, x + 4);
  const int32x4_t x2 = tw_quotients(d, x + 8), x3 = tw_quotients(d, x + 12);
  const int16x8_t low = vaddq_s16(vuzp1q_s16(vreinterpretq_s16_s32(x0), vreinterpretq_s16_s32(x1)), d->zero);
  const int16x8_t high = vaddq_s16(vuzp1q_s16(vreinterpretq_s16_s32(x2), vreinterpretq_s16_s32(x3)), d->zero);
  if (is_unsigned) {
    vst1q_u8(y, vqmovun_high_s16(vqmovun_s16(low), high));
  } else {
    vst1q_s8(y, vqmovn_high_s16(vqmovn_s16(low), high));
  }
}

#endif
