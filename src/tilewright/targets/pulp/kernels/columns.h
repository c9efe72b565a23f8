/* From totals of four neighbouring columns (or filters) to results: what their requantisation amounts to, prepared once
 * for all rows. Three ways are fast; whatever does not fit them takes the exact way of requant.h.
 *
 * TW_SMALL: (total * mul + add) >> shift, where no total is so large that the sum would not fit 32 bits; what is on the
 *   way to it may wrap around.
 * TW_CLIPPED: the same with totals clipped first, so far out that they saturate the result anyway but not the product:
 *   the result is exact for every total.
 * TW_HIGH: with a shift of more than 32 the low word of the 64-bit product plus half never carries into the result, so
 *   that (high word + add) >> (shift - 32) is exact. Ties to even are ties up where no tie can occur: the product of a
 *   total and a factor with few trailing zeros is no odd multiple of half.
 * TW_WIDE: the same for results of 16 bits, with totals shifted to the left first, by `bound` bits; results with no bit below
 * the shift, which `less` begins with, may be ties and are looked at. Only in C.
 * TW_PLAIN: totals as they are. */
#ifndef TW_COLUMNS_H
#define TW_COLUMNS_H

#include "high_word.h"
#include "requant.h"

/* Whether results have 16 bits. */
#ifndef TW_Y_IS_WIDE
#define TW_Y_IS_WIDE 0
#endif

enum { TW_SMALL, TW_CLIPPED, TW_HIGH, TW_PLAIN, TW_EXACT, TW_WIDE };

#define TW_LARGEST_SHIFT 20

/* Offsets are known to the assembly in dots.h. */
typedef struct {
  int32_t init[4]; /* the totals before the first product */
  int32_t mul[4];
  int32_t add[4]; /* with half and the zero point */
  int32_t bound;
  int32_t shift;
  int32_t high;
  int32_t mode;
  int32_t less[4]; /* factors less one */
} tw_columns;

/* Whether one clip instruction does for results of TW_Y: -(high + 1) to high if signed, else 0 to high. */
static inline int tw_clips_at_once(const tw_requant *r, int is_signed) {
  return is_signed ? r->low == -r->high - 1 : r->low == 0;
}

/* A network without native requantisations has kernels without them: smaller, and sooner in the instruction cache. */
#ifdef TW_HAS_NATIVE
#define TW_IS_NATIVE(r) (TW_HAS_NATIVE && (r)->rounding == TW_NATIVE)
#else
#define TW_IS_NATIVE(r) ((r)->rounding == TW_NATIVE)
#endif

static inline uint32_t tw_magnitude(int32_t x) { return x < 0 ? 0u - (uint32_t)x : (uint32_t)x; }

/* Requantisations of factors from `least` to `most`; magnitudes of summands have no bit beyond those of `add`; totals
 * are not larger than `limit`. Sets mode, bound and shift; returns what is to be added to the summands. */
static inline int32_t tw_narrow_offset(tw_columns *c, const tw_requant *r, int32_t least, int32_t most, uint32_t add,
                                       uint32_t limit) {
  const int32_t shift = r->shift;
  c->shift = shift;
  c->bound = INT32_MAX;
  c->mode = TW_SMALL;
  if (TW_IS_NATIVE(r)) return (int32_t)((uint32_t)r->zero_point << shift) + ((1 << shift) >> 1);
  c->mode = TW_EXACT;
  if (r->rounding != TW_HALF_UP || shift > TW_LARGEST_SHIFT || least <= 0 || most >> 28 || add >> 28) return 0;
  const int32_t offset = (r->zero_point << shift) + ((1 << shift) >> 1);
  const uint32_t added = tw_magnitude(offset) + add;
  c->mode = TW_SMALL;
  if ((uint64_t)limit * (uint32_t)most + added <= INT32_MAX) return offset;
  /* Clipping must not begin before the result is saturated. */
  const uint32_t bound = (1u << (29 - tw_x_fl1((uint32_t)most))) - 1;
  const uint32_t saturated = ((uint32_t)(r->high - r->low + 2) << shift) + added + add;
  c->bound = (int32_t)bound;
  c->mode = bound * (uint32_t)least < saturated ? TW_EXACT : TW_CLIPPED;
  return offset;
}

/* `zeros`: trailing zeros of the factors, at most. */
static inline int32_t tw_high_offset(tw_columns *c, const tw_requant *r, int32_t zeros, uint32_t add, uint32_t limit) {
  const int32_t shift = r->shift - 32;
  if (r->rounding > TW_HALF_EVEN || shift < 1 || shift > TW_LARGEST_SHIFT || add != 0) return 0;
  if (r->rounding == TW_HALF_EVEN && tw_x_fl1(limit | 1) + zeros >= r->shift - 1) return 0;
  c->shift = shift;
  c->mode = TW_HIGH;
  return (r->zero_point << shift) + (1 << (shift - 1));
}

/* Results of 16 bits: as many bits as totals have room for make the shift larger than 32. */
#define TW_WIDE_SPARE 10
static inline int32_t tw_wide_offset(tw_columns *c, const tw_requant *r, uint32_t add, uint32_t limit) {
  const int32_t bits = tw_x_fl1(limit | 1), up = tw_x_max(tw_x_min(30 - bits, 32 + TW_WIDE_SPARE - r->shift), 0);
  const int32_t shift = r->shift + up - 32;
  c->high = r->high;
  c->mode = TW_EXACT;
  if (r->rounding > TW_HALF_EVEN || shift < 1 || shift > TW_LARGEST_SHIFT || add != 0 || !tw_clips_at_once(r, 1)) return 0;
  if (tw_magnitude(r->zero_point) >> (28 - shift) || bits > 30) return 0;
  c->bound = up;
  c->shift = shift;
  c->mode = TW_WIDE;
  c->less[0] = (1 << shift) - 1;
  c->less[1] = r->rounding == TW_HALF_EVEN ? r->zero_point & 1 : 2;
  return (int32_t)((uint32_t)r->zero_point << shift) + (1 << (shift - 1));
}

static inline int32_t tw_wide_finish(const tw_columns *c, int32_t total, int f) {
  const int32_t wide = (int32_t)((uint32_t)total << c->bound);
  const int32_t sum = (int32_t)((int64_t)wide * c->mul[f] >> 32) + c->add[f];
  int32_t value = sum >> c->shift;
  if (TW_COLD(!(sum & c->less[0]))) {
    if ((uint32_t)wide * (uint32_t)c->mul[f] == 0) value -= tw_tie_excess(value, c->less[1]);
  }
  return tw_x_clip(value, c->high);
}

/* Totals as they are: nothing that is read for the other modes is left open. */
static inline void tw_columns_plain(tw_columns *c) {
  for (int f = 0; f < 4; f++) c->mul[f] = c->add[f] = 0;
  c->bound = INT32_MAX;
  c->shift = c->high = 0;
  if (TW_Y_IS_WIDE) c->less[0] = c->less[1] = 0;
  c->mode = TW_PLAIN;
}

/* Of some columns the least and the largest factor, the most trailing zeros of one, and the bits of their summands. */
typedef struct {
  int32_t least, most, zeros;
  uint32_t added;
} tw_factors;

static inline tw_factors tw_factors_of(int32_t factor, int32_t summand) {
  const tw_factors only = {factor, factor, tw_x_ff1((uint32_t)factor), tw_magnitude(summand)};
  return only;
}

static inline void tw_factors_join(tw_factors *all, int32_t factor, int32_t summand) {
  all->least = tw_x_min(all->least, factor);
  all->most = tw_x_max(all->most, factor);
  all->zeros = tw_x_max(all->zeros, tw_x_ff1((uint32_t)factor));
  all->added |= tw_magnitude(summand);
}

/* One mode for all of them; totals are not larger than `limit`. Returns what is to be added to the summands. */
static inline int32_t tw_columns_mode(tw_columns *c, const tw_requant *r, const tw_factors *all, uint32_t limit,
                                      int is_signed) {
  if (TW_Y_IS_WIDE) return tw_wide_offset(c, r, all->added, limit);
  c->high = r->high;
  c->mode = TW_EXACT;
  if (!tw_clips_at_once(r, is_signed)) return 0;
  const int32_t offset = tw_narrow_offset(c, r, all->least, all->most, all->added, limit);
  return c->mode == TW_EXACT ? tw_high_offset(c, r, all->zeros, all->added, limit) : offset;
}

/* The mode for four columns with their factors and summands. */
static inline void tw_columns_choose(tw_columns *c, const tw_requant *r, const int32_t *mul, int32_t mul_step,
                                     const int32_t *add, int32_t add_step, uint32_t limit, int is_signed) {
  tw_factors all = tw_factors_of(mul[0], add ? add[0] : 0);
  for (int f = 0; f < 4; f++) {
    c->mul[f] = mul[f * mul_step];
    c->add[f] = add ? add[f * add_step] : 0;
    tw_factors_join(&all, c->mul[f], c->add[f]);
    if (!(mul_step | add_step)) break;
  }
  const int32_t offset = tw_columns_mode(c, r, &all, limit, is_signed);
  for (int f = 0; f < 4; f++) {
    c->mul[f] = c->mul[mul_step | add_step ? f : 0];
    c->add[f] = f && !(mul_step | add_step) ? c->add[0] : c->add[f] + offset;
  }
}

/* What the assembly in dots.h expects. Cores add a product in one cycle, but multiply in two: it takes a product as the
 * total plus `less` times itself. */
static inline void tw_columns_prepare(tw_columns *c) {
  if (TW_Y_IS_WIDE) return;
  for (int f = 0; f < 4; f++) c->less[f] = c->mul[f] - 1;
}

/* Where the product does not overflow, what totals begin with becomes part of the summand. */
static inline void tw_columns_begin_at_zero(tw_columns *c) {
  if (c->mode != TW_SMALL) return;
  for (int f = 0; f < 4; f++) {
    c->add[f] = tw_x_mac(c->add[f], c->init[f], c->mul[f]);
    c->init[f] = 0;
  }
}

/* Whether columns of native requantisations are prepared at once, with nothing to be known about totals. */
static inline int tw_is_native(const tw_requant *r, int is_signed) {
  return TW_IS_NATIVE(r) && tw_clips_at_once(r, is_signed);
}

/* Column f of them, all that is to be prepared; `init` is what its totals begin with. */
static inline void tw_column_native(tw_columns *c, const tw_requant *r, int f, int32_t init, int32_t mul, int32_t add) {
  const uint32_t offset = ((uint32_t)r->zero_point << r->shift) + ((1u << r->shift) >> 1);
  c->init[f] = 0;
  c->mul[f] = mul;
  c->less[f] = mul - 1;
  c->add[f] = tw_x_mac((int32_t)(offset + (uint32_t)add), init, mul);
  c->bound = INT32_MAX;
  c->shift = r->shift;
  c->high = r->high;
  c->mode = TW_SMALL;
}

/* One result in a mode that is not exact. */
static inline int32_t tw_columns_finish(const tw_columns *c, int32_t total, int f, int is_signed) {
  if (c->mode == TW_PLAIN) return total;
  if (TW_Y_IS_WIDE) return tw_wide_finish(c, total, f);
  int32_t value;
  if (c->mode == TW_HIGH) {
    value = tw_x_addn((int32_t)((int64_t)total * c->mul[f] >> 32), (uint32_t)c->add[f], (uint32_t)c->shift);
  } else {
    const int32_t clipped = c->mode == TW_CLIPPED ? tw_x_clip(total, c->bound) : total;
    value = tw_x_mac(c->add[f], clipped, c->mul[f]) >> c->shift;
  }
  return is_signed ? tw_x_clip(value, c->high) : tw_x_clipu(value, c->high);
}

#endif
