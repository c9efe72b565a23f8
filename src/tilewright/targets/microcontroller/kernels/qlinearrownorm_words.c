/* y = requant(c / sqrt(mean of c * c + epsilon) * mul + add), row by row, where c = n * x, less the sum if centred. Numbers
 * of 64 bits are there for whole rows, and for elements that are next to a tie. */
#include "qlinearrownorm.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearrownorm_words
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "always.h"
#include "root64.h"
#include "tw.h"

#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>
#endif

#define UNIT_BITS 20 /* fraction bits of a normalised element */
#define ROOT_BITS 31
#define TW_IS_SIGNED(type) ((type)-1 < 0)

/* ---- a row as a whole ---- */

typedef struct {
  int32_t sum;
  uint64_t squares;
} sums;

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

typedef struct {
  int32_t factor, offset; /* n * (x - x_zero) - sum, shifted to the left: x * factor + offset */
  int32_t inverse;        /* by which it is multiplied; the upper word of the product is a unit, */
  int32_t half, back;     /* after half was added and it was shifted back */
} row_scale;

TW_ALWAYS int32_t upper_word(int32_t a, int32_t b) { return (int32_t)((int64_t)a * b >> 32); }

/* The number of bits of a number that is not 0. */
TW_ALWAYS int32_t bits_of(uint64_t x) { return 64 - __builtin_clzll(x); }

/* The root is from 2^30 to 2^31 - 1: its reciprocal, 2^61 divided by it, is at most 2^31. */
static __attribute__((noinline)) row_scale measure(const tw_qlinearrownorm_params *p, const TW_X *x) {
  const int32_t length = p->length, zero = p->x_zero;
  const sums s = sums_of(x, length);
  const int32_t total = s.sum - length * zero;
  /* Of x - x_zero. */
  const uint64_t squares = (uint64_t)((int64_t)s.squares - (int64_t)zero * (s.sum + total));
  const int32_t sum = p->centred ? total : 0;
  const uint64_t variance = squares * (uint32_t)length - (uint64_t)((int64_t)sum * sum), one = (uint64_t)1 << p->fraction;
  uint64_t spread = (variance << p->fraction) + (uint64_t)p->epsilon;
  /* All elements are the same: whatever they are divided by, zero is zero. */
  if (spread < one) spread = one;
  const int32_t pairs = (2 * ROOT_BITS - bits_of(spread)) >> 1;
  const int32_t down = 2 * ROOT_BITS - 1 - UNIT_BITS - (p->fraction >> 1) - pairs;
  const int32_t up = down < 33 ? 33 - down : 0, back = down + up - 32;
  uint32_t inverse;
  tw_root_and_inverse(spread << (2 * pairs), &inverse);
  const row_scale scale = {(int32_t)((uint32_t)length << up),
                           (int32_t)((0u - (uint32_t)sum - (uint32_t)length * (uint32_t)zero) << up), (int32_t)inverse,
                           1 << (back - 1), back};
  return scale;
}

/* ---- its elements ---- */

typedef struct {
  int32_t shift, back;
  int32_t add;  /* half and the zero point, and one more */
  int32_t mask; /* with that one: bits below the shift that are zero where the lower word may count */
} narrowing;

static narrowing narrowing_of(const tw_qlinearrownorm_params *p) {
  const tw_requant *const r = &p->requant;
  const int32_t shift = r->shift - 32, half = 1 << (shift - 1);
  const narrowing n = {shift, 32 - p->lift, half + (int32_t)((uint32_t)r->zero_point << shift) + 1, 2 * half - 2};
  return n;
}

static __attribute__((noinline)) TW_Y exactly(const tw_qlinearrownorm_params *p, int32_t unit, int32_t mul, int32_t add) {
  return (TW_Y)tw_narrow(&p->requant, (int64_t)unit * mul + (int64_t)add * ((int64_t)1 << p->lift));
}

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

static __attribute__((noinline)) void scale_row(const tw_qlinearrownorm_params *p, const row_scale *s, const TW_X *x,
                                                const int32_t *mul, const int32_t *add, TW_Y *y) {
  if (s->inverse < 0) {
    scale_by(p, s, 1, x, mul, add, y);
  } else {
    scale_by(p, s, 0, x, mul, add, y);
  }
}

void TW_NAME(const tw_qlinearrownorm_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_qlinearrownorm_params *const p = params;
  const int32_t length = p->length;
  for (int32_t row = 0; row < p->rows; row++, x += length, y += length) {
    const int32_t group = p->groups > 1 ? row % p->groups * length : 0;
    const row_scale scale = measure(p, x);
    scale_row(p, &scale, x, mul + group, add + group, y);
  }
}
