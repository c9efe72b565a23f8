/* Floating-point instructions that stay in the order in which they are written.
 *
 * Two cores share a floating-point unit. A core that computes all it has loaded and then stores all of it leaves the other
 * one waiting, and then the unit idle. Kernels write a load or a store behind each operation instead, and the compiler
 * only chooses registers. A loaded value must not be used by the very next instruction. */
#ifndef TW_IN_ORDER_F32_H
#define TW_IN_ORDER_F32_H

#include "xpulp.h"

#define TW_STEP_BY_STEP static inline __attribute__((always_inline))

#if TW_XPULP

TW_STEP_BY_STEP float tw_take(const float *from) {
  float x;
  __asm__ volatile("flw %0, %1" : "=f"(x) : "m"(*from));
  return x;
}

TW_STEP_BY_STEP void tw_put(float *to, float x) { __asm__ volatile("fsw %1, %0" : "=m"(*to) : "f"(x)); }

TW_STEP_BY_STEP float tw_plus(float a, float b) {
  float x;
  __asm__ volatile("fadd.s %0, %1, %2" : "=f"(x) : "f"(a), "f"(b));
  return x;
}

TW_STEP_BY_STEP float tw_minus(float a, float b) {
  float x;
  __asm__ volatile("fsub.s %0, %1, %2" : "=f"(x) : "f"(a), "f"(b));
  return x;
}

/* start + a * b */
TW_STEP_BY_STEP float tw_plus_product(float start, float a, float b) {
  float x;
  __asm__ volatile("fmadd.s %0, %1, %2, %3" : "=f"(x) : "f"(a), "f"(b), "f"(start));
  return x;
}

/* start - a * b */
TW_STEP_BY_STEP float tw_minus_product(float start, float a, float b) {
  float x;
  __asm__ volatile("fnmsub.s %0, %1, %2, %3" : "=f"(x) : "f"(a), "f"(b), "f"(start));
  return x;
}

#else

TW_STEP_BY_STEP float tw_take(const float *from) { return *from; }
TW_STEP_BY_STEP void tw_put(float *to, float x) { *to = x; }
TW_STEP_BY_STEP float tw_plus(float a, float b) { return a + b; }
TW_STEP_BY_STEP float tw_minus(float a, float b) { return a - b; }
TW_STEP_BY_STEP float tw_plus_product(float start, float a, float b) { return start + a * b; }
TW_STEP_BY_STEP float tw_minus_product(float start, float a, float b) { return start - a * b; }

#endif

#endif
