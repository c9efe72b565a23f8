/* y = requant(c / sqrt(mean of c * c + epsilon) * mul + add), row by row, where c = n * x, less the sum if centred. Numbers
 * of 64 bits are there for whole rows, and for elements that are next to a tie. */
#include "qlinearrownorm.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrownorm_words
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "row_norm_words.h"

#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>
#endif

#define TW_IS_SIGNED(type) ((type)-1 < 0)

/* ---- a row as a whole ---- */

static __attribute__((noinline)) sums sums_of(const TW_X *x, int32_t length) {
  sums s = {0, 0};
  int32_t done = 0;
  if (sizeof(TW_X) == 1) {
    int32_t sum = 0, squares = 0;
#ifdef __ARM_FEATURE_DSP
    const int16x2_t ones = (int16x2_t)0x00010001;
    for (; done + 4 <= length; done += 4) {
      uint32_t word;
      __builtin_memcpy(&word, x + done, sizeof word);
      const uint32_t turned = word >> 8 | word << 24;
      const int16x2_t even = TW_IS_SIGNED(TW_X) ? (int16x2_t)__sxtb16(word) : (int16x2_t)__uxtb16(word);
      const int16x2_t odd = TW_IS_SIGNED(TW_X) ? (int16x2_t)__sxtb16(turned) : (int16x2_t)__uxtb16(turned);
      sum = __smlad(even, ones, sum), squares = __smlad(even, even, squares);
      sum = __smlad(odd, ones, sum), squares = __smlad(odd, odd, squares);
    }
#endif
    for (; done < length; done++) sum += x[done], squares += (int32_t)x[done] * (int32_t)x[done];
    s.sum = sum, s.squares = (uint32_t)squares;
  }
  for (; done < length; done++) {
    s.sum += x[done];
    s.squares += (uint32_t)x[done] * (uint32_t)x[done];
  }
  return s;
}

static __attribute__((noinline)) row_scale measure(const tw_qlinearrownorm_params *p, const TW_X *x) {
  return row_scale_of(p, sums_of(x, p->length));
}

/* ---- its elements ---- */

/* To all values of the type. */
TW_ALWAYS TW_Y clipped(int32_t value) {
#ifdef __ARM_FEATURE_SAT
  if (sizeof(TW_Y) == 1) return (TW_Y)(TW_IS_SIGNED(TW_Y) ? __ssat(value, 8) : (int32_t)__usat(value, 8));
  if (sizeof(TW_Y) == 2) return (TW_Y)(TW_IS_SIGNED(TW_Y) ? __ssat(value, 16) : (int32_t)__usat(value, 16));
#endif
  const int32_t bits = 8 * (int32_t)sizeof(TW_Y), most = (1 << (bits - TW_IS_SIGNED(TW_Y))) - 1;
  return (TW_Y)tw_clamp(value, TW_IS_SIGNED(TW_Y) ? -1 - most : 0, most);
}

/* Without the lower word, the sum may be too small by one, or a tie. A reciprocal of 2^31 is a negative word: it is too
 * small by 2^32. */
TW_ALWAYS TW_Y scaled(const tw_qlinearrownorm_params *p, const row_scale *s, const narrowing *n, int is_large, int32_t x,
                      int32_t mul, int32_t add) {
  const int32_t centred = (int32_t)((uint32_t)s->offset + (uint32_t)x * (uint32_t)s->factor);
  const int32_t upper = upper_word(centred, s->inverse) + (is_large ? centred : 0), unit = (upper + s->half) >> s->back;
  const int32_t sum = upper_word(unit, mul) + (add >> n->back) + n->add;
  if (__builtin_expect((sum & n->mask) == 0, 0)) return exactly(p, unit, mul, add);
  return clipped(sum >> n->shift);
}

TW_ALWAYS void scale_by(const tw_qlinearrownorm_params *p, const row_scale *scale, int is_large, const TW_X *x,
                        const int32_t *mul, const int32_t *add, TW_Y *y) {
  const row_scale s = *scale;
  const narrowing n = narrowing_of(p);
  for (int32_t i = 0; i < p->length; i++) y[i] = scaled(p, &s, &n, is_large, x[i], mul[i], add[i]);
}

#include "row_norm_rows.h"

void TW_NAME(const tw_qlinearrownorm_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  norm_rows(params, x, mul, add, y);
}
