/* What rows and elements of normalisations in words have in common: numbers of 64 bits are there for whole rows, and for
 * elements that are next to a tie. Needs TW_Y. */
#ifndef TW_ROW_NORM_WORDS_H
#define TW_ROW_NORM_WORDS_H

#include "always.h"
#include "qlinearrownorm.h"
#include "root64.h"
#include "tw.h"

#define UNIT_BITS 20 /* fraction bits of a normalised element */
#define ROOT_BITS 31

/* ---- a row as a whole ---- */

typedef struct {
  int32_t sum;
  uint64_t squares;
} sums;

typedef struct {
  int32_t factor, offset; /* n * (x - x_zero) - sum, shifted to the left: x * factor + offset */
  int32_t inverse;        /* by which it is multiplied; the upper word of the product is a unit, */
  int32_t half, back;     /* after half was added and it was shifted back */
} row_scale;

TW_ALWAYS int32_t upper_word(int32_t a, int32_t b) { return (int32_t)((int64_t)a * b >> 32); }

/* The number of bits of a number that is not 0. */
TW_ALWAYS int32_t bits_of(uint64_t x) { return 64 - __builtin_clzll(x); }

/* The root is from 2^30 to 2^31 - 1: its reciprocal, 2^61 divided by it, is at most 2^31. */
TW_ALWAYS row_scale row_scale_of(const tw_qlinearrownorm_params *p, sums s) {
  const int32_t length = p->length, zero = p->x_zero;
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

#endif
