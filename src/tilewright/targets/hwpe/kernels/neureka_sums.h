/* Sums of totals that lie equally far apart, into the first of them: 2.2 cycles for each, and 3. */
#ifndef TW_NEUREKA_SUMS_H
#define TW_NEUREKA_SUMS_H

#include "cluster.h"
#include "xpulp.h"

#if TW_XPULP
/* Of four parts. */
static inline void tw_sum_four(int32_t *total, int32_t step, int32_t count) {
  const char *from = (const char *)total;
  int32_t a, b, c, d;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[count]", 8) TW_A_LW_STEP("%[a]", "%[from]", "%[step]")
      TW_A_LW_STEP("%[b]", "%[from]", "%[step]") TW_A_LW_STEP("%[c]", "%[from]", "%[step]")
      TW_A_LW_STEP("%[d]", "%[from]", "%[back]") "add %[a], %[a], %[b]\nadd %[c], %[c], %[d]\nadd %[a], %[a], %[c]\n"
      TW_A_SW("%[a]", "%[total]", "4") TW_A_END
      : [from] "+r"(from), [total] "+r"(total), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d)
      : [count] "r"(count), [step] "r"(step), [back] "r"(4 - 3 * step)
      : "memory");
}
#endif

/* `count` totals of the first part, of which the others lie `step` bytes apart. */
static TW_COMPACT void tw_sum_run(int32_t *total, int32_t step, int32_t others, int32_t count) {
#if TW_XPULP
  const int32_t back = 8 - others * step, pairs = count >> 1;
  const char *first = (const char *)total, *second = first + 4;
  int32_t a, b, c, d;
  if (others == 3 && count > 0) {
    tw_sum_four(total, step, count);
    return;
  }
  if (pairs > 0 && others > 0) {
    __asm__ volatile(
        TW_A_BEGIN TW_A_OUTER_LOOP("%[pairs]", 11) TW_A_LW_STEP("%[a]", "%[first]", "%[step]")
        TW_A_LW_STEP("%[b]", "%[second]", "%[step]") TW_A_LOOP("%[others]", 4) TW_A_LW_STEP("%[c]", "%[first]", "%[step]")
        TW_A_LW_STEP("%[d]", "%[second]", "%[step]") "add %[a], %[a], %[c]\nadd %[b], %[b], %[d]\n"
        TW_A_SW("%[a]", "%[total]", "4") TW_A_SW("%[b]", "%[total]", "4") "add %[first], %[first], %[back]\n"
        "add %[second], %[second], %[back]\n" TW_A_END
        : [first] "+r"(first), [second] "+r"(second), [total] "+r"(total), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c),
          [d] "=&r"(d)
        : [pairs] "r"(pairs), [others] "r"(others), [step] "r"(step), [back] "r"(back - step)
        : "memory");
    count &= 1;
  }
#endif
  for (; count > 0; count--, total++) {
    const char *at = (const char *)total;
    for (int32_t i = 0; i < others; i++) *total += *(const int32_t *)(const void *)(at += step);
  }
}

#endif
