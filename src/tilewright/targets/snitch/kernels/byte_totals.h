/* Bytes as floats, and what becomes of their sums: a sum that began with 1.5 * 2^23 has the bits of this number plus the total, if
 * that is not too large. */
#ifndef TW_BYTE_TOTALS_H
#define TW_BYTE_TOTALS_H

#include "cluster.h"
#include "own_requant.h"
#include "narrow_words.h"
#include "requant.h"
#include "stream_sums_sizes.h"
#include "tw.h"

#define TW_ORIGIN_BITS 0x4b400000 /* of 1.5 * 2^23 */

static TW_COMPACT void tw_fill_table(float *table, int32_t is_signed, int32_t zero) {
  const tw_share bytes = tw_share_of(256);
  for (int32_t i = bytes.first; i < bytes.end; i++) table[i] = (float)((is_signed ? (int8_t)i : (uint8_t)i) - zero);
}

/* What a row of totals becomes. Steps are added up: a multiplication takes longer. */
static inline __attribute__((noinline)) void tw_plain_row(const int32_t *from, int32_t origin, const int32_t *bias, int32_t bias_step, TW_Y *to,
                                                int32_t to_step, int32_t count) {
  for (; count > 0; count--, bias += bias_step, to += to_step)
    *to = (TW_Y)((uint32_t)*from++ - (uint32_t)origin + (uint32_t)*bias);
}

typedef struct {
  const int32_t *bias, *mul, *add;
  int32_t bias_step, mul_step, add_step;
} tw_scales;

/* A row, by the way from its totals to the results. */
#define TW_DEFINE_SCALED_ROW(NAME, NARROW)                                                                             \
  static inline __attribute__((noinline)) void NAME(const int32_t *from, int32_t origin, const tw_scales *scales,             \
                                             const tw_requant *requant, TW_Y *to, int32_t to_step, int32_t count) {    \
    tw_scales s = *scales;                                                                                             \
    const tw_narrowing n = tw_narrowing_of(requant);                                                                   \
    (void)n;                                                                                                           \
    for (; count > 0; count--, to += to_step) {                                                                        \
      const int32_t total = (int32_t)((uint32_t)*from++ - (uint32_t)origin + (uint32_t)*s.bias), mul = *s.mul, add = *s.add; \
      s.bias += s.bias_step;                                                                                           \
      s.mul += s.mul_step;                                                                                             \
      s.add += s.add_step;                                                                                             \
      *to = (TW_Y)NARROW;                                                                                              \
    }                                                                                                                  \
  }
TW_DEFINE_SCALED_ROW(tw_scaled_near, tw_narrow_near(&n, (int64_t)total * mul + add))
TW_DEFINE_SCALED_ROW(tw_scaled_far, tw_narrow_far(&n, (int64_t)total * mul + add))
TW_DEFINE_SCALED_ROW(tw_scaled_any, tw_requantise_byte(requant, total, mul, add))

static inline void tw_scaled_row(const int32_t *from, int32_t origin, const tw_scales *s, const tw_requant *requant, TW_Y *to,
                                 int32_t to_step, int32_t count) {
  if (TW_IS_TFLITE(requant) || requant->shift == 0) {
    tw_scaled_any(from, origin, s, requant, to, to_step, count);
  } else if (requant->shift < 32) {
    tw_scaled_near(from, origin, s, requant, to, to_step, count);
  } else {
    tw_scaled_far(from, origin, s, requant, to, to_step, count);
  }
}

#endif
