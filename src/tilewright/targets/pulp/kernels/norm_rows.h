/* Arithmetic of the integer normalisations on bytes. */
#ifndef TW_NORM_ROWS_H
#define TW_NORM_ROWS_H

#include "int32.h"
#include "xpulp.h"

/* The floor of the square root, one bit at a time. */
static inline uint32_t tw_root32(uint32_t x) {
  uint32_t root = 0, bit = x ? 1u << (tw_x_fl1(x) & ~1) : 0;
  for (; bit != 0; bit >>= 2) {
    const uint32_t candidate = root + bit;
    root >>= 1;
    if (x >= candidate) {
      x -= candidate;
      root += bit;
    }
  }
  return root;
}

/* (n / sigma, towards zero) >> shift, clamped to int8; sigma << shift is at most 2^31. A negative quotient is rounded
 * towards zero and then, by the shift, away from it. */
static inline int8_t tw_divide_and_shift(int32_t n, uint32_t sigma, int32_t shift) {
  const uint32_t divisor = sigma << shift;
  if (n >= 0) return (int8_t)tw_x_min((int32_t)((uint32_t)n / divisor), 127);
  const uint32_t magnitude = 0u - (uint32_t)n;
  return (int8_t)-tw_x_min((int32_t)((magnitude + (divisor - sigma)) / divisor), 128);
}

#endif
