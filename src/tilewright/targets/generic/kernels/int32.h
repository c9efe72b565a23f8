/* 32-bit arithmetic that wraps around, and the integer square root. */
#ifndef TW_INT32_H
#define TW_INT32_H

#include <stdint.h>

static inline int32_t tw_add32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static inline int32_t tw_sub32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
static inline int32_t tw_mul32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }

/* The floor of the square root, one bit at a time. */
static inline uint32_t tw_root(uint64_t x) {
  uint64_t root = 0, bit = (uint64_t)1 << 62;
  while (bit > x) bit >>= 2;
  for (; bit != 0; bit >>= 2) {
    const uint64_t candidate = root + bit;
    root >>= 1;
    if (x >= candidate) {
      x -= candidate;
      root += bit;
    }
  }
  return (uint32_t)root;
}

#endif
