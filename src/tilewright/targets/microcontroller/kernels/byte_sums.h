/* Sums of what becomes of the bytes of two tensors, requantised; broadcast. There are 256 of each, so that both
 * functions are tables. Needs TW_A, TW_B and TW_Y. */
#ifndef TW_BYTE_SUMS_H
#define TW_BYTE_SUMS_H

#include "binary_kernel.h"
#include "byte_sums_sizes.h"
#include "requant_row.h"

/* The smallest byte of each operand: the first entry of its table. */
#define TW_LEAST_A ((TW_A)-1 < 0 ? -128 : 0)
#define TW_LEAST_B ((TW_B)-1 < 0 ? -128 : 0)

/* The way without tables, by a function of an element of each. */
#define TW_DEFINE_PLAIN_SUMS(params_kind, sum_of)                                                             \
  static void plain_sums(const params_kind *p, const TW_A *a, const TW_B *b, TW_Y *y) {                       \
    const int32_t last = p->loops.rank - 1, n = p->loops.size[last];                                          \
    const int32_t step_a = p->loops.stride_a[last], step_b = p->loops.stride_b[last];                         \
    int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;                                                \
    do {                                                                                                      \
      for (int32_t i = 0; i < n; i++) *y++ = (TW_Y)sum_of(p, a[offset_a + i * step_a], b[offset_b + i * step_b]); \
    } while (tw_binary_next_row(&p->loops, at, &offset_a, &offset_b));                                        \
  }

/* A row by a way that is constant here. */
TW_ALWAYS void tw_sum_row(tw_way way, const tw_requant *r, const tw_factor *factor, const int32_t *first,
                          const int32_t *second, const TW_A *a, int32_t step_a, const TW_B *b, int32_t step_b, TW_Y *y,
                          int32_t count) {
  const tw_factor f = *factor;
  for (int32_t i = 0; i < count; i++, a += step_a, b += step_b) {
    const int32_t sum = first[*a - TW_LEAST_A] + second[*b - TW_LEAST_B];
    if (way == TW_ANY_WAY) {
      y[i] = (TW_Y)tw_requantise(r, sum, f.mul, f.add);
    } else {
      tw_requantise_by(way, r, &f, &sum, y + i, 1);
    }
  }
}

#ifdef __ARM_FEATURE_DSP
#include <arm_acle.h>

/* By TW_TWICE to all values of a byte, four at a time: rows of elements side by side. */
TW_ALWAYS TW_Y tw_sum_twice(const tw_factor *f, int32_t sum) {
  const int32_t twice = (int32_t)((uint32_t)sum << 1);
  const int32_t product = (int32_t)(((int64_t)twice * f->mul + 0x80000000LL) >> 32) + f->addend;
  const int32_t value = (product + (twice >> 31)) >> f->shift;
  return (TW_Y)((TW_Y)-1 < 0 ? __ssat(value, 8) : (int32_t)__usat(value, 8));
}

static __attribute__((noinline)) void tw_sum_fours(const tw_factor *factor, const int32_t *first, const int32_t *second, const TW_A *a,
                                const TW_B *b, TW_Y *y, int32_t count) {
  const tw_factor f = *factor;
  first -= TW_LEAST_A, second -= TW_LEAST_B;
  for (; count >= 4; count -= 4, a += 4, b += 4, y += 4) {
    const int32_t s0 = first[a[0]] + second[b[0]], s1 = first[a[1]] + second[b[1]];
    const int32_t s2 = first[a[2]] + second[b[2]], s3 = first[a[3]] + second[b[3]];
    const TW_Y y0 = tw_sum_twice(&f, s0), y1 = tw_sum_twice(&f, s1), y2 = tw_sum_twice(&f, s2);
    const TW_Y y3 = tw_sum_twice(&f, s3);
    y[0] = y0, y[1] = y1, y[2] = y2, y[3] = y3;
  }
  for (; count > 0; count--) *y++ = tw_sum_twice(&f, first[*a++] + second[*b++]);
}

/* Whether it takes a layer's rows. */
static inline int tw_has_fours(tw_way way, const tw_requant *r, int32_t step_a, int32_t step_b) {
  const int32_t least = (TW_Y)-1 < 0 ? -128 : 0;
  return way == TW_TWICE && step_a == 1 && step_b == 1 && r->low == least && r->high == least + 255;
}
#else
TW_ALWAYS int tw_has_fours(tw_way way, const tw_requant *r, int32_t step_a, int32_t step_b) {
  (void)way, (void)r, (void)step_a, (void)step_b;
  return 0;
}
TW_ALWAYS void tw_sum_fours(const tw_factor *factor, const int32_t *first, const int32_t *second, const TW_A *a,
                            const TW_B *b, TW_Y *y, int32_t count) {
  (void)factor, (void)first, (void)second, (void)a, (void)b, (void)y, (void)count;
}
#endif

/* All rows. */
static inline void tw_sum_rows(tw_way way, const tw_requant *r, const tw_factor *f, const tw_binary_params *loops,
                               const int32_t *first, const int32_t *second, const TW_A *a_all, const TW_B *b_all,
                               TW_Y *y) {
  const int32_t last = loops->rank - 1, n = loops->size[last];
  const int32_t step_a = loops->stride_a[last], step_b = loops->stride_b[last];
  int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;
  do {
    const TW_A *a = a_all + offset_a;
    const TW_B *b = b_all + offset_b;
    if (tw_has_fours(way, r, step_a, step_b)) {
      tw_sum_fours(f, first, second, a, b, y, n);
    } else if (way == TW_TWICE) {
      tw_sum_row(TW_TWICE, r, f, first, second, a, step_a, b, step_b, y, n);
    } else if (way == TW_FAR) {
      tw_sum_row(TW_FAR, r, f, first, second, a, step_a, b, step_b, y, n);
    } else if (way == TW_NEAR) {
      tw_sum_row(TW_NEAR, r, f, first, second, a, step_a, b, step_b, y, n);
    } else {
      tw_sum_row(TW_ANY_WAY, r, f, first, second, a, step_a, b, step_b, y, n);
    }
    y += n;
  } while (tw_binary_next_row(loops, at, &offset_a, &offset_b));
}

#endif
