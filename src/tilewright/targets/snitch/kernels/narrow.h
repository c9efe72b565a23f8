/* The end of a requantisation; it stands for the portable one of this name. */
#ifndef TW_NARROW_H
#define TW_NARROW_H

#include "narrow_words.h"

/* From a wide sum to the result: shift, zero point and clamp. */
static inline int32_t tw_narrow(const tw_requant *r, int64_t wide) {
  const tw_narrowing n = tw_narrowing_of(r);
  if (__builtin_expect(n.shift == 0, 0)) return wide < n.least ? n.low : wide > n.most ? n.high : (int32_t)wide + n.zero;
  return n.shift < 32 ? tw_narrow_near(&n, wide) : tw_narrow_far(&n, wide);
}

#endif
