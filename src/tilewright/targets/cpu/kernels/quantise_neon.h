/* Floats as bytes: rounded quotients, ties to even, with a zero point. */
#ifndef TW_QUANTISE_NEON_H
#define TW_QUANTISE_NEON_H

#include <arm_neon.h>
#include <stdint.h>

typedef struct {
  float32x4_t divisor, inverse, least, most; /* limits of what is divided, a unit beyond those of results */
  float32x4_t no_fraction;                   /* added, it leaves a whole number in the lower bits */
  int16x8_t zero;
} tw_divider;

static inline tw_divider tw_divider_of(float divisor, float low, float high, int32_t zero) {
  const tw_divider made = {vdupq_n_f32(divisor),
                           vdupq_n_f32(1.0f / divisor),
                           vdupq_n_f32((low - 1.0f) * divisor),
                           vdupq_n_f32((high + 1.0f) * divisor),
                           vdupq_n_f32(12582912.0f),
                           vdupq_n_s16((int16_t)zero)};
  return made;
}

/* A step of all vectors before the next step of the first: each waits for the one before it. */
#define TW_STEP_OF_ALL(COUNT, VALUES, STEP)  \
  for (int k = 0; k < (COUNT); k++) {        \
    STEP;                                    \
    __asm__ volatile("" : "+w"(VALUES[k]));  \
  }

/* Sixteen or 32 quotients as bytes; saturates at the limits of the type. */
static inline __attribute__((always_inline)) void tw_quantise_some(int sixteens, const tw_divider *d, int is_unsigned,
                                                                   const float *x, void *y) {
  const int count = 4 * sixteens;
  float32x4_t value[8], quotient[8];
  for (int k = 0; k < count; k++) value[k] = vld1q_f32(x + 4 * k);
  TW_STEP_OF_ALL(count, value, value[k] = vmaxnmq_f32(value[k], d->least))
  TW_STEP_OF_ALL(count, value, value[k] = vminnmq_f32(value[k], d->most))
  TW_STEP_OF_ALL(count, quotient, quotient[k] = vmulq_f32(value[k], d->inverse))
  TW_STEP_OF_ALL(count, value, value[k] = vfmsq_f32(value[k], quotient[k], d->divisor))
  TW_STEP_OF_ALL(count, quotient, quotient[k] = vfmaq_f32(quotient[k], value[k], d->inverse))
  TW_STEP_OF_ALL(count, quotient, quotient[k] = vaddq_f32(quotient[k], d->no_fraction))
  for (int k = 0; k < count; k += 4, y = (int8_t *)y + 16) {
    const int16x8_t first = vuzp1q_s16(vreinterpretq_s16_f32(quotient[k]), vreinterpretq_s16_f32(quotient[k + 1]));
    const int16x8_t second = vuzp1q_s16(vreinterpretq_s16_f32(quotient[k + 2]), vreinterpretq_s16_f32(quotient[k + 3]));
    const int16x8_t low = vaddq_s16(first, d->zero), high = vaddq_s16(second, d->zero);
    if (is_unsigned) {
      vst1q_u8(y, vqmovun_high_s16(vqmovun_s16(low), high));
    } else {
      vst1q_s8(y, vqmovn_high_s16(vqmovn_s16(low), high));
    }
  }
}

#endif
