/* Integers in doubles, exact up to 53 bits: rounding, roots and quotients without 64-bit divisions. */
#ifndef TW_EXACT_DOUBLES_H
#define TW_EXACT_DOUBLES_H

#include <stdint.h>

/* 1.5 * 2^52: what is added to it is rounded to the nearest integer, halves to the even one, which its lower word holds. */
#define TW_ROUNDER 6755399441055744.0

typedef union {
  double value;
  uint64_t bits;
  int32_t words[2]; /* the lower one first */
} tw_double_bits;

/* Four numbers are computed up to here before one of them goes on: compilers would take them one after the other, and each
 * step waits for the one before. */
#if defined(__riscv)
#define TW_TOGETHER(v) __asm__("" : "+f"((v)[0]), "+f"((v)[1]), "+f"((v)[2]), "+f"((v)[3]))
#else
#define TW_TOGETHER(v) (void)(v)
#endif

/* a * b + c, rounded once. (Compilers call a function for fma(), which might set errno.) */
static inline double tw_fma(double a, double b, double c) {
#if defined(__riscv)
  double made;
  __asm__("fmadd.d %0, %1, %2, %3" : "=f"(made) : "f"(a), "f"(b), "f"(c));
  return made;
#else
  return __builtin_fma(a, b, c);
#endif
}

/* The integer that TW_ROUNDER was added to. */
static inline int32_t tw_rounded(const double *sum) { return ((const tw_double_bits *)(const void *)sum)->words[0]; }

/* 2^exponent. */
static inline double tw_power(int32_t exponent) {
  tw_double_bits made;
  made.bits = (uint64_t)(uint32_t)(exponent + 1023) << 52;
  return made.value;
}

/* Of a double that holds an integer below 2^52, not negative. */
static inline uint64_t tw_integer(double value) {
  tw_double_bits made;
  made.value = value + 4503599627370496.0;
  return made.bits & 0xfffffffffffffu;
}

static inline int32_t tw_leading_zeros(uint64_t x) {
  const uint32_t high = (uint32_t)(x >> 32);
  return high != 0 ? __builtin_clz(high) : 32 + __builtin_clz((uint32_t)x);
}

static inline double tw_from64(uint64_t x) { return (double)(uint32_t)(x >> 32) * 4294967296.0 + (double)(uint32_t)x; }

/* The floor of the root of a number below 2^62: that of a double is at most one off. */
static inline uint32_t tw_root64(uint64_t x) {
#if defined(__riscv)
  double close;
  __asm__("fsqrt.d %0, %1" : "=f"(close) : "f"(tw_from64(x)));
#else
  const double close = __builtin_sqrt(tw_from64(x));
#endif
  uint32_t root = (uint32_t)close;
  while ((uint64_t)root * root > x) root--;
  while ((uint64_t)(root + 1) * (root + 1) <= x) root++;
  return root;
}

/* The floor of x / y below 2^32. */
static inline uint32_t tw_quotient(uint64_t x, uint32_t y) {
  uint32_t found = (uint32_t)(tw_from64(x) / (double)y);
  if ((uint64_t)found * y > x) found--;
  if (x - (uint64_t)found * y >= y) found++;
  return found;
}

#endif
