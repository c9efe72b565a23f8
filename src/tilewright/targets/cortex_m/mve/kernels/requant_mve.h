/* Requantisation of four totals at a time: what requant.h computes, for results of 16 bits at the most. */
#ifndef TW_REQUANT_MVE_H
#define TW_REQUANT_MVE_H

#include <arm_mve.h>
#include <stddef.h>

#include "requant.h"

#define TW_ALWAYS static inline __attribute__((always_inline))
#define TW_APART static __attribute__((noinline))

/* Only TensorFlow Lite's roundings have it. */
#ifdef TW_HAS_EXPONENTS
#define TW_HAS_UP_WAY TW_HAS_EXPONENTS
#else
#define TW_HAS_UP_WAY 1
#endif

/* Only they, of elements of 16 bits. */
#define TW_HAS_ONCE_WAY (TW_HAS_UP_WAY && TW_ELEMENT_BYTES == 2)

/* TW_SHORT_WAY: TW_DOUBLE without exponents above 0; or TW_HALF_UP by more than 32 bits with nothing added.
 * TW_UP_WAY: TW_DOUBLE_UP without exponents above 0, also where TW_DOUBLE differs in results that are cut off only.
 * TW_ONCE_WAY: TW_SINGLE with exponents below -1. */
typedef enum { TW_UP_WAY, TW_SHORT_WAY, TW_ANY_WAY, TW_ONCE_WAY } tw_vector_way;

/* x * mul / 2^31 * 2^exponent, rounded twice: ties up, then away from zero or up. */
TW_ALWAYS int32x4_t tw_vector_double(int32x4_t x, int32x4_t mul, int32x4_t right, int ties_up) {
  int32x4_t high = vqrdmulhq_s32(x, mul);
  if (!ties_up) high = vqaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31));
  return vrshlq_s32(high, right);
}

/* The same, rounded once. A total that is too large for its shift stays too large for the result. */
TW_ALWAYS int32x4_t tw_vector_single(int32x4_t x, int32x4_t mul, int32x4_t exponent) {
  const int32x4_t zero = vdupq_n_s32(0), shift = vaddq_n_s32(exponent, 1);
  const int32x4_t moved = vqshlq_s32(x, vmaxq_s32(shift, zero));
  const int32x4_t shifted = vrshlq_s32(vmulhq_s32(moved, mul), vminq_s32(shift, zero));
  return vpselq_s32(shifted, vrmulhq_s32(moved, mul), vcmpltq_n_s32(shift, 0));
}

TW_ALWAYS int32x4_t tw_vector_float(const tw_requant *r, int32x4_t x, int32x4_t mul) {
  const float32x4_t least = vdupq_n_f32((float)(r->low - r->zero_point));
  const float32x4_t most = vdupq_n_f32((float)(r->high - r->zero_point));
  const float32x4_t product = vmulq_f32(vcvtq_f32_s32(x), vreinterpretq_f32_s32(mul));
  return vcvtnq_s32_f32(vminnmq_f32(vmaxnmq_f32(product, least), most));
}

/* Ties were rounded up: those that belong elsewhere are brought there. */
TW_ALWAYS int32x4_t tw_vector_ties(const tw_requant *r, int32x4_t rounded, int32x4_t high, mve_pred16_t tie) {
  if (r->rounding == TW_HALF_EVEN) return vsubq_m_s32(rounded, rounded, vandq_s32(rounded, vdupq_n_s32(1)), tie);
  if (r->rounding == TW_HALF_AWAY) return vaddq_m_s32(rounded, rounded, vshrq_n_s32(high, 31), tie);
  return rounded;
}

/* (x * mul + add) / 2^shift, the product in two words. */
TW_ALWAYS int32x4_t tw_vector_shifted(const tw_requant *r, int32x4_t x, int32x4_t mul, int32x4_t add) {
  int32x4_t low = vmulq_s32(x, mul);
  if (r->rounding == TW_NATIVE) return vrshlq_s32(vaddq_s32(low, add), vdupq_n_s32(-r->shift));
  int32x4_t high = vaddq_s32(vmulhq_s32(x, mul), vshrq_n_s32(add, 31));
  low = vaddq_s32(low, add);
  const mve_pred16_t carry = vcmphiq_u32(vreinterpretq_u32_s32(add), vreinterpretq_u32_s32(low));
  high = vaddq_m_s32(high, high, vdupq_n_s32(1), carry);
  const int32_t left = 32 - r->shift;
  const int32x4_t half = vdupq_n_s32(INT32_MIN);
  if (left < 0) {
    /* What is left of the low word decides whether there is a tie. */
    const int32x4_t rest = vshlq_s32(high, vdupq_n_s32(32 + left));
    const mve_pred16_t tie = vcmpeqq_m_s32(rest, half, vcmpeqq_n_s32(low, 0));
    return tw_vector_ties(r, vrshlq_s32(high, vdupq_n_s32(left)), high, tie);
  }
  const uint32x4_t below = vreinterpretq_u32_s32(low);
  const int32x4_t floored = vorrq_s32(vqshlq_s32(high, vdupq_n_s32(left)),
                                      vreinterpretq_s32_u32(vshlq_u32(below, vdupq_n_s32(left - 32))));
  const int32x4_t rest = vshlq_s32(low, vdupq_n_s32(left));
  const int32x4_t rounded = vqaddq_s32(floored, vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(rest), 31)));
  return tw_vector_ties(r, rounded, high, vcmpeqq_s32(rest, half));
}

TW_ALWAYS int32x4_t tw_vector_scaled(tw_vector_way way, const tw_requant *r, int32x4_t x, int32x4_t mul,
                                     int32x4_t add) {
  if (TW_IS_TFLITE(r)) {
    if (way == TW_ONCE_WAY) return vrshlq_s32(vmulhq_s32(x, mul), add);
    if (way != TW_ANY_WAY) return tw_vector_double(x, mul, add, way == TW_UP_WAY);
    if (r->rounding == TW_FLOAT) return tw_vector_float(r, x, mul);
    if (r->rounding == TW_SINGLE) return tw_vector_single(x, mul, add);
    const int32x4_t zero = vdupq_n_s32(0), moved = vshlq_s32(x, vmaxq_s32(add, zero));
    return tw_vector_double(moved, mul, vminq_s32(add, zero), r->rounding == TW_DOUBLE_UP);
  }
  if (way != TW_ANY_WAY) return vrshlq_s32(vmulhq_s32(x, mul), vdupq_n_s32(32 - r->shift));
  return tw_vector_shifted(r, x, mul, add);
}

/* What is the same for all channels. */
typedef struct {
  const tw_requant *r;
  int32x4_t least, most;
  int32_t zero_point;
} tw_vector_limits;

TW_ALWAYS tw_vector_limits tw_vector_limits_of(const tw_requant *r) {
  const tw_vector_limits made = {r, vdupq_n_s32(r->low - r->zero_point), vdupq_n_s32(r->high - r->zero_point),
                                 r->zero_point};
  return made;
}

/* The summands of four channels that begin here, or the shifts of TW_ONCE_WAY; a way that adds nothing has none. */
TW_ALWAYS int32x4_t tw_vector_summands(tw_vector_way way, const tw_requant *r, const int32_t *add) {
  const int is_added = way != TW_ANY_WAY ? TW_IS_TFLITE(r) : add != NULL;
  (void)r;
  if (way == TW_ONCE_WAY) return vaddq_n_s32(vldrwq_s32(add), 1);
  return is_added ? vldrwq_s32(add) : vdupq_n_s32(0);
}

TW_ALWAYS int32x4_t tw_vector_limited(const tw_vector_limits *limits, int32x4_t value) {
  return vaddq_n_s32(vminq_s32(vmaxq_s32(value, limits->least), limits->most), limits->zero_point);
}

TW_ALWAYS int32x4_t tw_vector_requantise(tw_vector_way way, const tw_vector_limits *limits, int32x4_t x, int32x4_t mul,
                                         int32x4_t add) {
  return tw_vector_limited(limits, tw_vector_scaled(way, limits->r, x, mul, add));
}

#endif
