/* Products of the rows of a matrix with a vector, by one core of several: four rows at a time meet four elements, and
 * loads stand between the products, since two cores share a floating-point unit. */
#ifndef TW_SHARED_DOTS_F32_H
#define TW_SHARED_DOTS_F32_H

#include "xpulp.h"

#if TW_XPULP

/* Element `at` bytes ahead of the vector (%4) and of the rows (%5 to %8), into registers. */
#define TW_A_DOT_FETCH(at, x, a, b, c, d)                                                                      \
  "flw " x ", " at "(%4)\n" "flw " a ", " at "(%5)\n" "flw " b ", " at "(%6)\n" "flw " c ", " at "(%7)\n"        \
  "flw " d ", " at "(%8)\n"
#define TW_A_DOT_FMA(total, a, x) "fmadd.s %" total ", " a ", " x ", %" total "\n"
/* The products of one element, between them the loads of the next. */
#define TW_A_DOT_STEP(x, a, b, c, d, at, nx, na, nb, nc, nd)                                                   \
  "flw " nx ", " at "(%4)\n" TW_A_DOT_FMA("0", a, x) "flw " na ", " at "(%5)\n" TW_A_DOT_FMA("1", b, x)          \
  "flw " nb ", " at "(%6)\n" TW_A_DOT_FMA("2", c, x) "flw " nc ", " at "(%7)\n" TW_A_DOT_FMA("3", d, x)          \
  "flw " nd ", " at "(%8)\n"

/* Adds products of four rows, `length` elements apart, with h to four sums; `turns` times four elements. */
static inline void tw_four_dots(const float *r, const float *h, int32_t length, int32_t turns, float *sums) {
  const float *r0 = r, *r1 = r0 + length, *r2 = r1 + length, *r3 = r2 + length;
  float s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%9", 41)
      TW_A_DOT_FETCH("0", "ft0", "ft1", "ft2", "ft3", "ft4")
      TW_A_DOT_STEP("ft0", "ft1", "ft2", "ft3", "ft4", "4", "ft5", "ft6", "ft7", "ft8", "ft9")
      TW_A_DOT_STEP("ft5", "ft6", "ft7", "ft8", "ft9", "8", "ft0", "ft1", "ft2", "ft3", "ft4")
      TW_A_DOT_STEP("ft0", "ft1", "ft2", "ft3", "ft4", "12", "ft5", "ft6", "ft7", "ft8", "ft9")
      TW_A_DOT_FMA("0", "ft6", "ft5") "addi %4, %4, 16\n" "addi %5, %5, 16\n" TW_A_DOT_FMA("1", "ft7", "ft5")
      "addi %6, %6, 16\n" TW_A_DOT_FMA("2", "ft8", "ft5") "addi %7, %7, 16\n" "addi %8, %8, 16\n"
      TW_A_DOT_FMA("3", "ft9", "ft5") TW_A_END
      : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3), "+r"(h), "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3)
      : "r"(turns)
      : "memory", "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "ft8", "ft9");
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

#else

static inline void tw_four_dots(const float *r, const float *h, int32_t length, int32_t turns, float *sums) {
  for (int32_t i = 0; i < 4; i++) {
    for (int32_t k = 0; k < 4 * turns; k++) sums[i] += r[i * length + k] * h[k];
  }
}

#endif

static inline void tw_dots(const float *r, const float *h, int32_t hidden, int32_t first, int32_t end, float *sums) {
  const int32_t turns = hidden >> 2;
  int32_t i = first;
  for (; i + 4 <= end && turns; i += 4) {
    tw_four_dots(r + i * hidden, h, hidden, turns, sums + i);
    for (int32_t k = 4 * turns; k < hidden; k++) {
      for (int32_t j = 0; j < 4; j++) sums[i + j] += r[(i + j) * hidden + k] * h[k];
    }
  }
  for (; i < end; i++) {
    const float *row = r + i * hidden;
    float s0 = sums[i], s1 = 0.0f;
    int32_t k = 0;
    for (; k + 2 <= hidden; k += 2) s0 += row[k] * h[k], s1 += row[k + 1] * h[k + 1];
    for (; k < hidden; k++) s0 += row[k] * h[k];
    sums[i] = s0 + s1;
  }
}

#endif
