/* Sums of what becomes of the bytes of two tensors, requantised; broadcast. There are 256 of each, so that both
 * functions are tables. Needs TW_A, TW_B and TW_Y. */
#ifndef TW_BYTE_SUMS_H
#define TW_BYTE_SUMS_H

#include "binary_kernel.h"
#include "requant_row.h"

#define TW_BYTES 256
/* The smallest byte of each operand: the first entry of its table. */
#define TW_LEAST_A ((TW_A)-1 < 0 ? -128 : 0)
#define TW_LEAST_B ((TW_B)-1 < 0 ? -128 : 0)
/* For fewer sums than this, making the tables takes longer than they save. */
#define TW_WORTH_TABLES (2 * TW_BYTES)

static inline int32_t tw_sums_of(const tw_binary_params *loops) {
  int32_t length = 1;
  for (int32_t axis = 0; axis < loops->rank; axis++) length *= loops->size[axis];
  return length;
}

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
    if (way == TW_TWICE) {
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
