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

/* With the zero point. */
static inline int16x8_t tw_weighted_eight(const tw_weights *w, int16x8_t a, int16x8_t b) {
  const int16x4_t a0 = vget_low_s16(a), b0 = vget_low_s16(b), f = w->factors;
  const int32x4_t low0 = vmlal_lane_s16(vmlal_lane_s16(w->low_offset, a0, f, 1), b0, f, 3);
  const int32x4_t low1 = vmlal_high_lane_s16(vmlal_high_lane_s16(w->low_offset, a, f, 1), b, f, 3);
  const int32x4_t high0 = vmlal_lane_s16(vmlal_lane_s16(w->high_offset, a0, f, 0), b0, f, 2);
  const int32x4_t high1 = vmlal_high_lane_s16(vmlal_high_lane_s16(w->high_offset, a, f, 0), b, f, 2);
  const int32x4_t x0 = vrshlq_s32(vsraq_n_s32(high0, low0, TW_LOW_BITS), w->shift);
  const int32x4_t x1 = vrshlq_s32(vsraq_n_s32(high1, low1, TW_LOW_BITS), w->shift);
  return vaddq_s16(vuzp1q_s16(vreinterpretq_s16_s32(x0), vreinterpretq_s16_s32(x1)), w->zero);
}

/* The first or second eight of sixteen bytes. */
static inline int16x8_t tw_bytes_wide(int is_unsigned, const void *from, int half) {
  if (is_unsigned) {
    const uint8x16_t all = vld1q_u8(from);
    return vreinterpretq_s16_u16(half ? vmovl_high_u8(all) : vmovl_u8(vget_low_u8(all)));
  }
  const int8x16_t all = vld1q_s8(from);
  return half ? vmovl_high_s8(all) : vmovl_s8(vget_low_s8(all));
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
