/* dot.h for Arm processors with sdot, and with smmla where there is TW_DOT_SMMLA. */
#ifndef TW_DOT_NEON_H
#define TW_DOT_NEON_H

#include <arm_neon.h>

#include "requant.h"

#define TW_ROWS 8
#define TW_COLUMNS 8
#define TW_STEP (4 * TW_COLUMNS) /* bytes of a four of weights */

/* A row of totals. */
typedef struct {
  int32x4_t v[2];
} tw_sums;

TW_ALWAYS tw_sums tw_sums_load(const int32_t *from) {
  const tw_sums made = {{vld1q_s32(from), vld1q_s32(from + 4)}};
  return made;
}

TW_ALWAYS void tw_sums_store(int32_t *to, tw_sums sums) {
  vst1q_s32(to, sums.v[0]);
  vst1q_s32(to + 4, sums.v[1]);
}

TW_ALWAYS tw_sums tw_sums_plus(tw_sums sums, int32_t term) {
  const tw_sums made = {{vaddq_s32(sums.v[0], vdupq_n_s32(term)), vaddq_s32(sums.v[1], vdupq_n_s32(term))}};
  return made;
}

TW_ALWAYS tw_sums tw_sums_of(int32_t value) {
  const tw_sums made = {{vdupq_n_s32(value), vdupq_n_s32(value)}};
  return made;
}

TW_ALWAYS tw_sums tw_sums_added(tw_sums a, tw_sums b) {
  const tw_sums made = {{vaddq_s32(a.v[0], b.v[0]), vaddq_s32(a.v[1], b.v[1])}};
  return made;
}

/* Less so many times the others. */
TW_ALWAYS tw_sums tw_sums_less(tw_sums sums, tw_sums others, int32_t times) {
  const tw_sums made = {{vmlsq_n_s32(sums.v[0], others.v[0], times), vmlsq_n_s32(sums.v[1], others.v[1], times)}};
  return made;
}

/* The last bytes before a multiple of 16, and zeros. */
TW_ALWAYS int8x16_t tw_last_bytes(const int8_t *from, int32_t count, int8x16_t flip) {
  static const int8_t numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  int8_t bytes[16] = {0};
  memcpy(bytes, from, (size_t)count);
  const uint8x16_t is_there = vcltq_s8(vld1q_s8(numbers), vdupq_n_s8((int8_t)count));
  return vandq_s8(veorq_s8(vld1q_s8(bytes), flip), vreinterpretq_s8_u8(is_there));
}

/* Sums of products of the bytes of x with those of each of some rows. */
TW_ALWAYS tw_sums tw_dots(const int8_t *x, int flip_x, const int8_t *const *rows, int flip, int32_t count) {
  const int8x16_t sign_x = vdupq_n_s8((int8_t)flip_x), sign = vdupq_n_s8((int8_t)flip);
  const int32_t whole = count / 16 * 16;
  int32x4_t t[TW_COLUMNS];
  TW_UNROLLED for (int c = 0; c < TW_COLUMNS; c++) t[c] = vdupq_n_s32(0);
  for (int32_t i = 0; i < whole; i += 16) {
    const int8x16_t a = veorq_s8(vld1q_s8(x + i), sign_x);
    TW_UNROLLED for (int c = 0; c < TW_COLUMNS; c++) t[c] = vdotq_s32(t[c], a, veorq_s8(vld1q_s8(rows[c] + i), sign));
  }
  if (whole < count) {
    const int8x16_t a = tw_last_bytes(x + whole, count - whole, sign_x);
    TW_UNROLLED for (int c = 0; c < TW_COLUMNS; c++) {
      t[c] = vdotq_s32(t[c], a, tw_last_bytes(rows[c] + whole, count - whole, sign));
    }
  }
  const tw_sums made = {{vpaddq_s32(vpaddq_s32(t[0], t[1]), vpaddq_s32(t[2], t[3])),
                         vpaddq_s32(vpaddq_s32(t[4], t[5]), vpaddq_s32(t[6], t[7]))}};
  return made;
}

#if defined(TW_DOT_SMMLA)
#include "multiply_pairs.h"
#endif

/* Weights. Those that are read once have an instruction each: one for two neighbours takes longer where both have to be
 * waited for. */
TW_ALWAYS int8x16_t tw_weights(int rows, const int8_t *w) {
  typedef int8x16_t unaligned __attribute__((aligned(1), may_alias));
  if (rows > 1) return vld1q_s8(w);
  return (int8x16_t)*(const volatile unaligned *)w;
}

#define TW_FOUR_OF_ROWS(LANE)                                                 \
  do {                                                                        \
    const int8x16_t w0 = tw_weights(rows, w), w1 = tw_weights(rows, w + 16);  \
    w += TW_STEP;                                                             \
    TW_UNROLLED for (int r = 0; r < rows; r++) {                              \
      t[r].v[0] = vdotq_laneq_s32(t[r].v[0], w0, a[r], LANE);                 \
      t[r].v[1] = vdotq_laneq_s32(t[r].v[1], w1, a[r], LANE);                 \
    }                                                                         \
  } while (0)

/* Adds the products of `count` bytes of each row, a multiple of 16, to the totals; returns the weights that follow.
 * `flip` is 0x80 for unsigned bytes. */
TW_ALWAYS const int8_t *tw_multiply_sixteens(int rows, tw_sums *t, const int8_t *const *x, int64_t count, const int8_t *w,
                                             int flip) {
#if defined(TW_DOT_SMMLA)
  if (TW_IS_PAIRED(rows)) return tw_multiply_pairs_sixteens(rows, t, x, count, w, flip);
#endif
  const int8x16_t sign = vdupq_n_s8((int8_t)flip);
  int8x16_t a[TW_ROWS];
  for (int64_t i = 0; i < count; i += 16) {
    TW_UNROLLED for (int r = 0; r < rows; r++) a[r] = vld1q_s8(x[r] + i);
    if (rows == 1) {
      __builtin_prefetch(w + TW_AHEAD);
      __builtin_prefetch(w + TW_AHEAD + TW_LINE);
    }
    if (flip) TW_UNROLLED for (int r = 0; r < rows; r++) a[r] = veorq_s8(a[r], sign);
    TW_FOUR_OF_ROWS(0);
    TW_FOUR_OF_ROWS(1);
    TW_FOUR_OF_ROWS(2);
    TW_FOUR_OF_ROWS(3);
  }
  return w;
}

/* The same of a multiple of 4. */
TW_ALWAYS const int8_t *tw_multiply(int rows, tw_sums *t, const int8_t *const *x, int32_t count, const int8_t *w,
                                    int flip) {
#if defined(TW_DOT_SMMLA)
  if (TW_IS_PAIRED(rows)) return tw_multiply_pairs(rows, t, x, count, w, flip);
#endif
  const int8x16_t sign = vdupq_n_s8((int8_t)flip);
  int8x16_t a[TW_ROWS];
  int64_t i = count / 16 * 16;
  w = tw_multiply_sixteens(rows, t, x, i, w, flip);
  if (count & 8) {
    TW_UNROLLED for (int r = 0; r < rows; r++) {
      const int8x8_t half = vld1_s8(x[r] + i);
      a[r] = veorq_s8(vcombine_s8(half, half), sign);
    }
    TW_FOUR_OF_ROWS(0);
    TW_FOUR_OF_ROWS(1);
    i += 8;
  }
  if (count & 4) {
    TW_UNROLLED for (int r = 0; r < rows; r++) {
      int32_t four;
      memcpy(&four, x[r] + i, 4);
      a[r] = veorq_s8(vreinterpretq_s8_s32(vdupq_n_s32(four)), sign);
    }
    TW_FOUR_OF_ROWS(0);
  }
  return w;
}

/* Four taps of two rows of channels: [channel][tap]. */
typedef struct {
  int8x16_t v[4];
} tw_taps;

TW_ALWAYS tw_taps tw_taps_load(const int8_t *from) {
  const tw_taps made = {{vld1q_s8(from), vld1q_s8(from + 16), vld1q_s8(from + 32), vld1q_s8(from + 48)}};
  return made;
}

/* Each of the two rows elsewhere. */
TW_ALWAYS void tw_taps_store(tw_taps taps, int8_t *first, int8_t *second) {
  vst1q_s8(first, taps.v[0]);
  vst1q_s8(first + 16, taps.v[1]);
  vst1q_s8(second, taps.v[2]);
  vst1q_s8(second + 16, taps.v[3]);
}

TW_ALWAYS int8x16_t tw_tap(int halves, const int8_t *from, int flip) {
  const int8x16_t x = halves == 2 ? vld1q_s8(from) : vcombine_s8(vld1_s8(from), vdup_n_s8(0));
  return flip ? veorq_s8(x, vdupq_n_s8((int8_t)flip)) : x;
}

/* Of TW_COLUMNS or twice as many channels. */
TW_ALWAYS tw_taps tw_taps_of(int halves, const int8_t *const *x, int flip) {
  const int8x16_t x0 = tw_tap(halves, x[0], flip), x1 = tw_tap(halves, x[1], flip);
  const int8x16_t x2 = tw_tap(halves, x[2], flip), x3 = tw_tap(halves, x[3], flip);
  const int16x8_t low01 = vreinterpretq_s16_s8(vzip1q_s8(x0, x1)), low23 = vreinterpretq_s16_s8(vzip1q_s8(x2, x3));
  tw_taps made = {{vreinterpretq_s8_s16(vzip1q_s16(low01, low23)), vreinterpretq_s8_s16(vzip2q_s16(low01, low23)),
                   vdupq_n_s8(0), vdupq_n_s8(0)}};
  if (halves == 2) {
    const int16x8_t high01 = vreinterpretq_s16_s8(vzip2q_s8(x0, x1)), high23 = vreinterpretq_s16_s8(vzip2q_s8(x2, x3));
    made.v[2] = vreinterpretq_s8_s16(vzip1q_s16(high01, high23));
    made.v[3] = vreinterpretq_s8_s16(vzip2q_s16(high01, high23));
  }
  return made;
}

/* The same four bytes for all channels. */
TW_ALWAYS tw_taps tw_taps_same(const int8_t *four, int flip) {
  int32_t bytes;
  memcpy(&bytes, four, 4);
  const int8x16_t all = veorq_s8(vreinterpretq_s8_s32(vdupq_n_s32(bytes)), vdupq_n_s8((int8_t)flip));
  const tw_taps made = {{all, all, all, all}};
  return made;
}

TW_ALWAYS void tw_multiply_taps(int halves, tw_sums *t, const tw_taps *x, const tw_taps *w) {
  t[0].v[0] = vdotq_s32(t[0].v[0], x->v[0], w->v[0]);
  t[0].v[1] = vdotq_s32(t[0].v[1], x->v[1], w->v[1]);
  if (halves == 1) return;
  t[1].v[0] = vdotq_s32(t[1].v[0], x->v[2], w->v[2]);
  t[1].v[1] = vdotq_s32(t[1].v[1], x->v[3], w->v[3]);
}

/* What is the same for all channels. */
typedef struct {
  int32x4_t shift; /* to the left, of the upper part of products; where exponents differ there are others */
  int16x8_t zero;
  float32x4_t least, most;
  int8x16_t low, high;
  int is_limited; /* whether the type's limits are not those of results */
} tw_scaler;

TW_ALWAYS tw_scaler tw_scaler_of(const tw_requant *r) {
  const tw_scaler made = {vdupq_n_s32(31 - r->shift), vdupq_n_s16((int16_t)r->zero_point),
                          vdupq_n_f32((float)(r->low - r->zero_point)), vdupq_n_f32((float)(r->high - r->zero_point)),
                          vdupq_n_s8((int8_t)r->low), vdupq_n_s8((int8_t)r->high), r->high - r->low != 255};
  return made;
}

/* What belongs to the channels of a row of totals. */
typedef struct {
  int32x4_t mul[2], shift[2];
} tw_factors;

/* The summands are exponents, or there are none. */
TW_ALWAYS tw_factors tw_factors_of(const tw_scaler *s, const int32_t *mul, const int32_t *add) {
  tw_factors made = {{vld1q_s32(mul), vld1q_s32(mul + 4)}, {s->shift, s->shift}};
  if (add) made.shift[0] = vld1q_s32(add), made.shift[1] = vld1q_s32(add + 4);
  return made;
}

TW_ALWAYS int32x4_t tw_scaled_lanes(tw_way way, const tw_scaler *s, int32x4_t x, int32x4_t mul, int32x4_t shift) {
  if (way == TW_NEAR_WAY || way == TW_HIGH_WAY) return vrshlq_s32(vqdmulhq_s32(x, mul), shift);
  if (way == TW_NEAR_DOUBLE_UP_WAY) return vrshlq_s32(vqrdmulhq_s32(x, mul), shift);
  if (way == TW_NEAR_DOUBLE_WAY) {
    const int32x4_t high = vqrdmulhq_s32(x, mul);
    return vrshlq_s32(vsraq_n_s32(high, high, 31), shift);
  }
  if (way == TW_FLOAT_WAY) {
    const float32x4_t product = vmulq_f32(vcvtq_f32_s32(x), vreinterpretq_f32_s32(mul));
    return vcvtnq_s32_f32(vminq_f32(vmaxq_f32(product, s->least), s->most));
  }
  const int32x4_t zero = vdupq_n_s32(0), right = vminq_s32(shift, zero);
  int32x4_t product = vqrdmulhq_s32(vshlq_s32(x, vmaxq_s32(shift, zero)), mul);
  /* Ties of negative numbers go down, where they are shifted at all. */
  if (way == TW_DOUBLE_WAY) product = vqaddq_s32(product, vshrq_n_s32(vandq_s32(product, right), 31));
  return vrshlq_s32(product, right);
}

/* In 16 bits, with the zero point. */
TW_ALWAYS int16x8_t tw_scaled_row(tw_way way, const tw_scaler *s, const tw_factors *f, tw_sums sums) {
  const int32x4_t x0 = tw_scaled_lanes(way, s, sums.v[0], f->mul[0], f->shift[0]);
  const int32x4_t x1 = tw_scaled_lanes(way, s, sums.v[1], f->mul[1], f->shift[1]);
  if (TW_IS_NEAR(way)) return vaddq_s16(vuzp1q_s16(vreinterpretq_s16_s32(x0), vreinterpretq_s16_s32(x1)), s->zero);
  return vqaddq_s16(vcombine_s16(vqmovn_s32(x0), vqmovn_s32(x1)), s->zero);
}

/* Two rows as bytes between the limits. */
TW_ALWAYS int8x16_t tw_limited(const tw_scaler *s, int is_unsigned, int16x8_t x0, int16x8_t x1) {
  if (is_unsigned) {
    const uint8x16_t low = vreinterpretq_u8_s8(s->low), high = vreinterpretq_u8_s8(s->high);
    const uint8x16_t narrow = vqmovun_high_s16(vqmovun_s16(x0), x1);
    return vreinterpretq_s8_u8(s->is_limited ? vminq_u8(vmaxq_u8(narrow, low), high) : narrow);
  }
  const int8x16_t narrow = vqmovn_high_s16(vqmovn_s16(x0), x1);
  return s->is_limited ? vminq_s8(vmaxq_s8(narrow, s->low), s->high) : narrow;
}

/* Rows of bytes from rows of totals with the same factors, any way but TW_ANY_WAY. */
TW_ALWAYS void tw_scale_rows(tw_way way, int rows, const tw_scaler *s, const tw_factors *f, int is_unsigned,
                             const tw_sums *t, void *y, int64_t pitch) {
  int8_t *to = y;
  if (rows == 1) {
    const int16x8_t x = tw_scaled_row(way, s, f, t[0]);
    vst1_s8(to, vget_low_s8(tw_limited(s, is_unsigned, x, x)));
    return;
  }
  TW_UNROLLED for (int r = 0; r < rows; r += 2, to += 2 * pitch) {
    const int16x8_t x0 = tw_scaled_row(way, s, f, t[r]), x1 = tw_scaled_row(way, s, f, t[r + 1]);
    const int8x16_t both = tw_limited(s, is_unsigned, x0, x1);
    vst1_s8(to, vget_low_s8(both));
    vst1_s8(to + pitch, vget_high_s8(both));
  }
}

/* Two neighbouring rows of channels. */
TW_ALWAYS void tw_scale_wide(tw_way way, const tw_scaler *s, const tw_factors *f, int is_unsigned, const tw_sums *t,
                             void *y) {
  const int16x8_t x0 = tw_scaled_row(way, s, f, t[0]), x1 = tw_scaled_row(way, s, f + 1, t[1]);
  vst1q_s8(y, tw_limited(s, is_unsigned, x0, x1));
}

/* ---- bytes that are requantised once more ---- */

typedef struct {
  int32x4_t bytes_zero, least, most; /* of the bytes, whose limits are without the zero point */
  int32x4_t shift;
  int16x8_t zero;
  int32_t factor;
  tw_scaler limits;
} tw_then_scaler;

typedef struct {
  int32x4_t mul[2], add[2];
} tw_then_factors;

TW_ALWAYS tw_then_scaler tw_then_scaler_of(const tw_requant *bytes, const tw_then *then) {
  const tw_requant *const r = &then->requant;
  const tw_then_scaler made = {vdupq_n_s32(bytes->zero_point), vdupq_n_s32(bytes->low - bytes->zero_point),
                               vdupq_n_s32(bytes->high - bytes->zero_point), vdupq_n_s32(-r->shift),
                               vdupq_n_s16((int16_t)r->zero_point), then->factor, tw_scaler_of(r)};
  return made;
}

/* The zero point of the bytes is part of the summands. */
TW_ALWAYS tw_then_factors tw_then_factors_of(const tw_then_scaler *s, const int32_t *mul, const int32_t *add) {
  const int32x4_t m0 = vld1q_s32(mul), m1 = vld1q_s32(mul + 4);
  const tw_then_factors made = {
      {m0, m1}, {vmlaq_s32(vld1q_s32(add), m0, s->bytes_zero), vmlaq_s32(vld1q_s32(add + 4), m1, s->bytes_zero)}};
  return made;
}

TW_ALWAYS int16x8_t tw_bytes_loaded(int is_unsigned, const void *from) {
  if (is_unsigned) return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(from)));
  return vmovl_s8(vld1_s8(from));
}

TW_ALWAYS int32x4_t tw_byte_lanes(tw_way way, const tw_scaler *s, const tw_then_scaler *then, const tw_factors *f,
                                  tw_sums sums, int i) {
  const int32x4_t x = tw_scaled_lanes(way, s, sums.v[i], f->mul[i], f->shift[i]);
  return vminq_s32(vmaxq_s32(x, then->least), then->most);
}

/* A row of totals as bytes, and once more: in 16 bits, with the zero point. `added` may be NULL. */
TW_ALWAYS int16x8_t tw_scaled_again(tw_way way, const tw_scaler *first, const tw_factors *factors,
                                    const tw_then_scaler *s, const tw_then_factors *f, int is_unsigned, tw_sums sums,
                                    const void *added) {
  int32x4_t x0 = vmlaq_s32(f->add[0], tw_byte_lanes(way, first, s, factors, sums, 0), f->mul[0]);
  int32x4_t x1 = vmlaq_s32(f->add[1], tw_byte_lanes(way, first, s, factors, sums, 1), f->mul[1]);
  if (added) {
    const int16x8_t more = tw_bytes_loaded(is_unsigned, added);
    const int32x4_t factor = vdupq_n_s32(s->factor);
    x0 = vmlaq_s32(x0, vmovl_s16(vget_low_s16(more)), factor);
    x1 = vmlaq_s32(x1, vmovl_high_s16(more), factor);
  }
  const int16x8_t low = vreinterpretq_s16_s32(vrshlq_s32(x0, s->shift));
  return vaddq_s16(vuzp1q_s16(low, vreinterpretq_s16_s32(vrshlq_s32(x1, s->shift))), s->zero);
}

/* Rows of bytes from rows of totals, a way of which TW_IS_NEAR and then once more; rows of what is added lie as results do. */
TW_ALWAYS void tw_scale_twice(tw_way way, int rows, const tw_scaler *s, const tw_factors *f, const tw_then_scaler *then,
                              const tw_then_factors *again, int is_unsigned, const tw_sums *t, const void *added, void *y,
                              int64_t pitch) {
  const int8_t *more = added;
  int8_t *to = y;
  if (rows == 1) {
    const int16x8_t x = tw_scaled_again(way, s, f, then, again, is_unsigned, t[0], more);
    vst1_s8(to, vget_low_s8(tw_limited(&then->limits, is_unsigned, x, x)));
    return;
  }
  TW_UNROLLED for (int r = 0; r < rows; r += 2, to += 2 * pitch, more = more ? more + 2 * pitch : NULL) {
    const int16x8_t x0 = tw_scaled_again(way, s, f, then, again, is_unsigned, t[r], more);
    const int16x8_t x1 = tw_scaled_again(way, s, f, then, again, is_unsigned, t[r + 1], more ? more + pitch : NULL);
    const int8x16_t both = tw_limited(&then->limits, is_unsigned, x0, x1);
    vst1_s8(to, vget_low_s8(both));
    vst1_s8(to + pitch, vget_high_s8(both));
  }
}

#endif
