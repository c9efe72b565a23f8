#ifndef TW_ROUNDED_DIVISION_H
#define TW_ROUNDED_DIVISION_H

#include <stdint.h>

/* The nearest integer to the quotient, halves away from zero; 0 for a denominator of 0. */
static inline int32_t tw_divide_rounded(int64_t numerator, int64_t denominator) {
  const uint64_t half = (uint64_t)(denominator >> 1);
  const int64_t sign = (numerator > 0) - (numerator < 0);
  const int64_t sum = (int64_t)((uint64_t)numerator + half * (uint64_t)sign);
  if (denominator == 0) return 0;
  if (denominator == -1) return (int32_t)(0 - (uint64_t)sum); /* the one quotient that may overflow */
  return (int32_t)(sum / denominator);
}

#endif
