/* The end of a requantisation, in words: shifts of 64 bits take long here, a branch that is not taken one cycle. */
#ifndef TW_NARROW_WORDS_H
#define TW_NARROW_WORDS_H

#include "requant_data.h"

/* What a requantisation looks up once for all its elements. */
typedef struct {
  int32_t shift, rounding, zero, low, high;
  int32_t least, most; /* the clamp before the zero point is added */
  int64_t half;
} tw_narrowing;

static inline int32_t tw_before_zero(int32_t end, int32_t zero) {
  const int64_t before = (int64_t)end - zero;
  return before < INT32_MIN ? INT32_MIN : before > INT32_MAX ? INT32_MAX : (int32_t)before;
}

static inline tw_narrowing tw_narrowing_of(const tw_requant *r) {
  const tw_narrowing found = {r->shift, r->rounding, r->zero_point, r->low, r->high, tw_before_zero(r->low, r->zero_point),
                              tw_before_zero(r->high, r->zero_point), r->shift ? (int64_t)1 << (r->shift - 1) : 0};
  return found;
}

static inline int32_t tw_clamped(const tw_narrowing *n, int32_t quotient) {
  if (quotient <= n->least) return n->low;
  if (quotient >= n->most) return n->high;
  return quotient + n->zero;
}

/* Of a tie that was rounded up. */
static inline int32_t tw_tie(int32_t rounding, int32_t quotient) {
  if (rounding == TW_HALF_EVEN) return quotient - (quotient & 1);
  return rounding == TW_HALF_AWAY ? quotient - (quotient <= 0) : quotient;
}

/* With a shift of 1 to 31. */
static inline __attribute__((always_inline)) int32_t tw_narrow_near(const tw_narrowing *n, int64_t wide) {
  const uint64_t sum = (uint64_t)wide + (uint64_t)n->half;
  const uint32_t low = (uint32_t)sum;
  const int32_t high = (int32_t)(sum >> 32);
  int32_t quotient = (int32_t)((uint32_t)high << (32 - n->shift) | low >> n->shift);
  if (__builtin_expect(high >> (n->shift - 1) != quotient >> 31, 0)) return high < 0 ? n->low : n->high;
  if (__builtin_expect(low << (32 - n->shift) == 0, 0)) quotient = tw_tie(n->rounding, quotient);
  return tw_clamped(n, quotient);
}

/* With a shift of 32 to 62. */
static inline __attribute__((always_inline)) int32_t tw_narrow_far(const tw_narrowing *n, int64_t wide) {
  const uint64_t sum = (uint64_t)wide + (uint64_t)n->half;
  const int32_t high = (int32_t)(sum >> 32);
  int32_t quotient = high >> (n->shift - 32);
  if (__builtin_expect((uint32_t)sum == 0, 0)) {
    if (n->shift == 32 || (uint32_t)high << (64 - n->shift) == 0) quotient = tw_tie(n->rounding, quotient);
  }
  return tw_clamped(n, quotient);
}

#endif
