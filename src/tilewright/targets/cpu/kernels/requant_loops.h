/* Roundings as expressions without branches, for loops over elements that have one rounding. A shift is 1 or more. */
#ifndef TW_REQUANT_LOOPS_H
#define TW_REQUANT_LOOPS_H

#include "requant.h"
#include "tw.h"

static inline int64_t tw_shifted64(int64_t x, int32_t shift, int32_t rounding) {
  const int64_t half = (int64_t)1 << (shift - 1);
  if (rounding == TW_HALF_EVEN) return (x + (half - 1) + ((x >> shift) & 1)) >> shift;
  return (x + half - (rounding == TW_HALF_AWAY && x < 0)) >> shift;
}

static inline int32_t tw_shifted32(int32_t x, int32_t shift, int32_t rounding) {
  const int32_t half = (int32_t)1 << (shift - 1);
  if (rounding == TW_HALF_EVEN) return (x + (half - 1) + ((x >> shift) & 1)) >> shift;
  return (x + half - (rounding == TW_HALF_AWAY && x < 0)) >> shift;
}

static inline int32_t tw_limited64(int64_t x, int64_t low, int64_t high) {
  return (int32_t)(x < low ? low : x > high ? high : x);
}

#endif
