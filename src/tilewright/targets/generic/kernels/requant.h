/* Fixed-point requantisation: y = clamp(round((x * mul + add) / 2^shift) + zero_point, low, high). */
#ifndef TW_REQUANT_H
#define TW_REQUANT_H

#include <stdint.h>

typedef struct {
  int32_t shift;
  int32_t half_even; /* 0: ties round up; 1: ties round to the even neighbour */
  int32_t zero_point;
  int32_t low;
  int32_t high;
  int32_t channels; /* how many values mul and add have: 1, or one per channel */
} tw_requant;

/* From a wide sum to the result: shift, zero point and clamp. */
static inline int32_t tw_narrow(const tw_requant *r, int64_t wide) {
  if (r->shift > 0) {
    const int64_t half = (int64_t)1 << (r->shift - 1);
    /* Half minus one, plus one from an odd quotient: a tie then goes to the even neighbour. */
    wide += r->half_even ? half - 1 + ((wide >> r->shift) & 1) : half;
    wide >>= r->shift;
  }
  wide += r->zero_point;
  return (int32_t)(wide < r->low ? r->low : wide > r->high ? r->high : wide);
}

static inline int32_t tw_requantise(const tw_requant *r, int32_t x, int32_t mul, int32_t add) {
  return tw_narrow(r, (int64_t)x * mul + add);
}

/* A requantisation with one multiplier and one summand. */
typedef struct {
  int32_t mul;
  int32_t add;
  tw_requant requant;
} tw_scaling;

static inline int32_t tw_scale(const tw_scaling *s, int32_t x) { return tw_requantise(&s->requant, x, s->mul, s->add); }

#endif
