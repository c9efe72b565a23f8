/* The end of a requantisation. */
#ifndef TW_NARROW_H
#define TW_NARROW_H

#include "requant_data.h"

/* From a wide sum to the result: shift, zero point and clamp. */
static inline int32_t tw_narrow(const tw_requant *r, int64_t wide) {
  if (r->shift > 0) {
    const int64_t half = (int64_t)1 << (r->shift - 1);
    /* Half minus one, plus one from an odd quotient: a tie then goes to the even neighbour. */
    wide += r->rounding == TW_HALF_EVEN ? half - 1 + ((wide >> r->shift) & 1) : half - (r->rounding == TW_HALF_AWAY && wide < 0);
    wide >>= r->shift;
  }
  wide += r->zero_point;
  return (int32_t)(wide < r->low ? r->low : wide > r->high ? r->high : wide);
}

#endif
