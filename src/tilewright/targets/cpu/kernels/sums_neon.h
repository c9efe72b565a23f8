/* Weighted sums of bytes, sixteen at a time. */
#ifndef TW_SUMS_NEON_H
#define TW_SUMS_NEON_H

#include <arm_neon.h>

#include "byte_sum.h"

typedef struct {
  int16x4_t factors; /* high and low part of that of a, then of b */
  int32x4_t high_offset, low_offset, shift;
  int16x8_t zero;
  int8x16_t low, high;
} tw_weights;

static inline tw_weights tw_weights_of(const tw_byte_sum *s) {
  const int16_t parts[4] = {(int16_t)s->high_a, (int16_t)s->low_a, (int16_t)s->high_b, (int16_t)s->low_b};
  const tw_weights made = {vld1_s16(parts), vdupq_n_s32(s->high_offset), vdupq_n_s32(s->low_offset),
                           vdupq_n_s32(-s->requant.shift), vdupq_n_s16((int16_t)s->requant.zero_point),
                           vdupq_n_s8((int8_t)s->requant.low), vdupq_n_s8((int8_t)s->requant.high)};
  return made;
}

static inline int32x4_t tw_weighted(const tw_weights *w, int16x4_t a, int16x4_t b) {
  const int32x4_t low = vmlal_lane_s16(vmlal_lane_s16(w->low_offset, a, w->factors, 1), b, w->factors, 3);
  const int32x4_t high = vmlal_lane_s16(vmlal_lane_s16(w->high_offset, a, w->factors, 0), b, w->factors, 2);
  return vrshlq_s32(vsraq_n_s32(high, low, TW_LOW_BITS), w->shift);
}

/* With the zero point. */
static inline int16x8_t tw_weighted_eight(const tw_weights *w, int16x8_t a, int16x8_t b) {
  const int32x4_t low = tw_weighted(w, vget_low_s16(a), vget_low_s16(b));
  const int32x4_t high = tw_weighted(w, vget_high_s16(a), vget_high_s16(b));
  return vaddq_s16(vuzp1q_s16(vreinterpretq_s16_s32(low), vreinterpretq_s16_s32(high)), w->zero);
}

static inline int16x8_t tw_bytes_wide(int is_unsigned, const void *from, int half) {
  if (is_unsigned) return vreinterpretq_s16_u16(vmovl_u8(vld1_u8((const uint8_t *)from + 8 * half)));
  return vmovl_s8(vld1_s8((const int8_t *)from + 8 * half));
}

/* As bytes between limits. */
static inline void tw_store_sixteen(int is_unsigned, int16x8_t first, int16x8_t second, int8x16_t low, int8x16_t high,
                                    void *y) {
  if (is_unsigned) {
    const uint8x16_t narrow = vqmovun_high_s16(vqmovun_s16(first), second);
    vst1q_u8(y, vminq_u8(vmaxq_u8(narrow, vreinterpretq_u8_s8(low)), vreinterpretq_u8_s8(high)));
  } else {
    vst1q_s8(y, vminq_s8(vmaxq_s8(vqmovn_high_s16(vqmovn_s16(first), second), low), high));
  }
}

static inline void tw_weighted_sixteen(const tw_weights *w, int unsigned_a, const void *a, int unsigned_b, const void *b,
                                       int unsigned_y, void *y) {
  const int16x8_t low = tw_weighted_eight(w, tw_bytes_wide(unsigned_a, a, 0), tw_bytes_wide(unsigned_b, b, 0));
  const int16x8_t high = tw_weighted_eight(w, tw_bytes_wide(unsigned_a, a, 1), tw_bytes_wide(unsigned_b, b, 1));
  tw_store_sixteen(unsigned_y, low, high, w->low, w->high, y);
}

#endif
