/* Totals requantised by the shortest way that a layer allows; what has none goes through tw_requantise. Products of 64
 * bits are looked at as two words, and the zero point is added before the last shift. Needs TW_Y.
 *
 * TW_TWICE needs totals below 2^30 in size: tw_way_of asks, whoever knows answers. */
#ifndef TW_REQUANT_ROW_H
#define TW_REQUANT_ROW_H

#include "always.h"
#include "patterns.h"
#include "requant.h"
#include "tw.h"

/* TW_AS_IS: not requantised. TW_FAR: shifts of more than 32 bits, nothing added: the lower word decides only where the
 * upper one is halfway. TW_NEAR: shifts of 1 to 31 bits, ties up. TW_TWICE: TensorFlow Lite's two roundings.
 * TW_ONCE: its single one, behind the upper word; of results of 16 bits. TW_WORD: 32 bits hold everything (TW_NATIVE). */
typedef enum { TW_AS_IS, TW_FAR, TW_NEAR, TW_TWICE, TW_ANY_WAY, TW_ONCE, TW_WORD } tw_way;

/* What is the same for all totals of a filter. */
typedef struct {
  int32_t mul, add;
  int32_t shift, addend; /* of the way */
  int32_t low, high;
} tw_factor;

/* The upper word of x * y, and the lower one. */
TW_ALWAYS int32_t tw_upper(int32_t x, int32_t y) { return (int32_t)(((int64_t)x * y) >> 32); }
TW_ALWAYS uint32_t tw_lower(int32_t x, int32_t y) { return (uint32_t)x * (uint32_t)y; }

/* Whether an instruction of the user's requantises by TW_TWICE: it takes shift, zero point and limits as bytes of a word. */
#ifdef __riscv_vector
#define TW_OWN_TWICE 0
#else
#define TW_OWN_TWICE (TW_HAS_REQUANT_S8 && sizeof(TW_Y) == 1 && (TW_Y)-1 < 0)
#endif

/* Whether one shifts and clips: the limits are signed bytes, so that unsigned results have TW_MIDDLE less until they are clipped. */
#if defined(__riscv_vector) || defined(TW_LIMITS_ARE_WIDE) || !TW_HAS_SHIFT_CLIP_S8
#define TW_OWN_CLIP 0
#else
#define TW_OWN_CLIP (sizeof(TW_Y) == 1)
#endif
#define TW_MIDDLE (TW_OWN_CLIP && (TW_Y)-1 > 0 ? 128 : 0)
#define TW_OF_CLIP(factor) (TW_OWN_CLIP ? (factor)->shift & 31 : (factor)->shift) /* the shift in what the instruction takes */

TW_ALWAYS int tw_fits_own(const tw_requant *r) {
  return !TW_OWN_TWICE || (r->zero_point >= -128 && r->zero_point < 128 && r->low >= -128 && r->high < 128);
}

TW_ALWAYS int tw_fits_clip(const tw_requant *r) {
  return !TW_OWN_CLIP || (r->low - TW_MIDDLE >= -128 && r->high - TW_MIDDLE < 128);
}

/* Whether the zero point may be shifted by so many bits. */
TW_ALWAYS int tw_has_room(const tw_requant *r, int32_t shift) {
  return shift < 29 && tw_max(r->zero_point - TW_MIDDLE, TW_MIDDLE - r->zero_point) < 1 << (29 - shift);
}

TW_ALWAYS int tw_goes_twice(const tw_requant *r, const int32_t *add, int32_t step, int32_t filters) {
  int goes = r->rounding == TW_DOUBLE && sizeof(TW_Y) < 4 && tw_fits_own(r);
  for (int32_t f = 0; f < (step ? filters : 1); f++) goes = goes && add[f] < 0 && tw_has_room(r, -add[f]);
  return goes;
}

TW_ALWAYS int tw_goes_once(const tw_requant *r, const int32_t *add, int32_t step, int32_t filters) {
  if (sizeof(TW_Y) != 2) return 0;
  int goes = r->rounding == TW_SINGLE;
  for (int32_t f = 0; f < (step ? filters : 1); f++) goes = goes && add[f] < -1 && tw_has_room(r, -1 - add[f]);
  return goes;
}

/* The way of a layer with so many filters. */
static tw_way tw_way_of(int32_t requantised, const tw_requant *r, const int32_t *add, int32_t add_step, int32_t filters,
                        int totals_are_small) {
  if (!requantised) return TW_AS_IS;
  if (sizeof(TW_Y) == 4 || !tw_fits_clip(r)) return TW_ANY_WAY;
  if (TW_IS_TFLITE(r) && tw_goes_once(r, add, add_step, filters)) return TW_ONCE;
  if (TW_IS_TFLITE(r)) return totals_are_small && tw_goes_twice(r, add, add_step, filters) ? TW_TWICE : TW_ANY_WAY;
  if (r->rounding == TW_NATIVE) return r->shift > 0 ? TW_WORD : TW_ANY_WAY;
  if (!add && r->shift > 32 && tw_has_room(r, r->shift - 32)) return TW_FAR;
  return r->rounding == TW_HALF_UP && r->shift > 0 && r->shift < 32 ? TW_NEAR : TW_ANY_WAY;
}

/* What the instruction takes besides a sum. */
TW_ALWAYS int32_t tw_clip_of(const tw_factor *f) {
  return (int32_t)((uint32_t)f->shift | ((uint32_t)f->low & 255) << 16 | (uint32_t)f->high << 24);
}

/* Of a filter. */
TW_ALWAYS tw_factor tw_factor_of(tw_way way, const tw_requant *r, int32_t mul, int32_t add) {
  tw_factor f = {mul, add, 0, 0, r->low, r->high};
  const int once = sizeof(TW_Y) == 2 && way == TW_ONCE;
  if (way == TW_TWICE && TW_OWN_TWICE) {
    f.addend = (int32_t)(((uint32_t)-add & 255) | ((uint32_t)r->zero_point & 255) << 8 | ((uint32_t)r->low & 255) << 16 |
                         (uint32_t)r->high << 24);
  } else if (way == TW_FAR || way == TW_TWICE || once) {
    f.shift = way == TW_FAR ? r->shift - 32 : once ? -1 - add : -add;
    f.addend = (int32_t)(((uint32_t)(r->zero_point - TW_MIDDLE) << f.shift) + (1u << (f.shift - 1)));
  } else if (way == TW_WORD) {
    f.shift = r->shift;
    f.addend = (int32_t)((uint32_t)add + ((uint32_t)r->zero_point << f.shift) + (1u << (f.shift - 1)));
  }
  if (TW_OWN_CLIP && (way == TW_FAR || (way == TW_WORD && TW_MIDDLE == 0) || (way == TW_TWICE && !TW_OWN_TWICE))) {
    f.low -= TW_MIDDLE, f.high -= TW_MIDDLE;
    f.shift = tw_clip_of(&f);
  }
  return f;
}

/* Few results are as large as the largest, many as small as the smallest: those of ReLU. */
TW_ALWAYS int32_t tw_within(int32_t value, int32_t low, int32_t high) {
  value = value < low ? low : value;
  return __builtin_expect(value > high, 0) ? high : value;
}

/* A sum, shifted. */
TW_ALWAYS int32_t tw_shifted(const tw_factor *f, int32_t sum) {
  if (TW_OWN_CLIP) return (int32_t)TW_SHIFT_CLIP_S8(sum, f->shift) + TW_MIDDLE;
  return tw_within(sum >> f->shift, f->low, f->high);
}

/* What a result that may be a tie has less. */
TW_ALWAYS int32_t tw_less(const tw_requant *r, int32_t value) {
  const int32_t own = value - (r->zero_point - TW_MIDDLE);
  return r->rounding == TW_HALF_EVEN ? own & 1 : r->rounding == TW_HALF_AWAY && own <= 0;
}

TW_ALWAYS int32_t tw_far(const tw_requant *r, const tw_factor *f, int32_t total) {
  const int32_t sum = tw_upper(total, f->mul) + f->addend, shift = TW_OF_CLIP(f);
  int32_t value = TW_OWN_CLIP ? 0 : sum >> shift;
  if (__builtin_expect(tw_lower(total, f->mul) == 0, 0) && (sum & ((1 << shift) - 1)) == 0) {
    if (TW_OWN_CLIP) return tw_within((sum >> shift) - tw_less(r, sum >> shift), f->low, f->high) + TW_MIDDLE;
    value -= tw_less(r, value);
  }
  return TW_OWN_CLIP ? tw_shifted(f, sum) : tw_within(value, f->low, f->high);
}

TW_ALWAYS int32_t tw_near(const tw_requant *r, const tw_factor *f, int32_t total) {
  const int32_t shift = r->shift, zero = r->zero_point;
  const int64_t sum = (int64_t)total * f->mul + ((int64_t)f->add + (1 << (shift - 1)));
  const int32_t upper = (int32_t)(sum >> 32), rest = upper >> (shift - 1);
  int32_t value = (int32_t)(((uint32_t)sum >> shift) | ((uint32_t)upper << (32 - shift)));
  /* Above the bits of a word nothing but its sign may be left. */
  if (rest != 0 && rest != -1) value = rest < 0 ? -(1 << 30) : 1 << 30;
  return tw_within(value, f->low - zero, f->high - zero) + zero;
}

/* Twice the total: the upper word is the product of the first step, the lower one has what it is rounded by. */
TW_ALWAYS int32_t tw_twice(const tw_factor *f, int32_t total) {
  if (TW_OWN_TWICE) return (int32_t)TW_REQUANT_S8(total, f->mul, f->addend);
  const int32_t twice = (int32_t)((uint32_t)total << 1);
  const int32_t product = tw_upper(twice, f->mul) + (int32_t)(tw_lower(twice, f->mul) >> 31);
  return tw_shifted(f, product + (product >> 31) + f->addend);
}

TW_ALWAYS int32_t tw_once(const tw_factor *f, int32_t total) {
  return tw_within((tw_upper(total, f->mul) + f->addend) >> f->shift, f->low, f->high);
}

TW_ALWAYS int32_t tw_in_word(const tw_factor *f, int32_t total) {
  const int32_t sum = (int32_t)((uint32_t)total * (uint32_t)f->mul + (uint32_t)f->addend);
  /* It has no room for 128 less. */
  return TW_MIDDLE ? tw_within(sum >> f->shift, f->low, f->high) : tw_shifted(f, sum);
}

#ifdef __riscv_vector
#include "requant_lanes.h"
#endif

/* Totals of a filter. With a constant way and a constant count there are no loops left. */
TW_ALWAYS void tw_requantise_by(tw_way way, const tw_requant *r, const tw_factor *f, const int32_t *total, TW_Y *y,
                                int32_t count) {
#ifdef __riscv_vector
  const int is_one = __builtin_constant_p(count) && count == 1;
  if (way != TW_NEAR && !is_one) {
    tw_requantise_lanes(way, r, f, total, y, count);
    return;
  }
#endif
  for (int32_t i = 0; i < count; i++) {
    y[i] = (TW_Y)(way == TW_FAR     ? tw_far(r, f, total[i])
                  : way == TW_NEAR  ? tw_near(r, f, total[i])
                  : way == TW_TWICE ? tw_twice(f, total[i])
                  : way == TW_ONCE  ? tw_once(f, total[i])
                  : way == TW_WORD  ? tw_in_word(f, total[i])
                                    : total[i]);
  }
}

static __attribute__((noinline, unused)) void tw_requantise_any(const tw_requant *r, int32_t mul, int32_t add,
                                                                const int32_t *total, TW_Y *y, int32_t count) {
  for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)tw_requantise(r, total[i], mul, add);
}

/* By a way that is known when it runs. */
TW_ALWAYS void tw_requantise_row(tw_way way, const tw_requant *r, const tw_factor *f, const int32_t *total, TW_Y *y,
                                 int32_t count) {
  if (way == TW_AS_IS) {
    tw_requantise_by(TW_AS_IS, r, f, total, y, count);
  } else if (way == TW_ANY_WAY) {
    tw_requantise_any(r, f->mul, f->add, total, y, count);
  } else if (sizeof(TW_Y) == 2 && way == TW_ONCE) {
    tw_requantise_by(TW_ONCE, r, f, total, y, count);
  } else if (TW_IS_TFLITE(r)) {
    tw_requantise_by(TW_TWICE, r, f, total, y, count);
  } else if (way == TW_FAR) {
    tw_requantise_by(TW_FAR, r, f, total, y, count);
  } else if (way == TW_NEAR) {
    tw_requantise_by(TW_NEAR, r, f, total, y, count);
  } else {
    tw_requantise_by(TW_WORD, r, f, total, y, count);
  }
}

#endif
