/* Defines a kernel that takes two tensors element by element, broadcast, all cores together:
 * TW_SHARED_BINARY(expression of a and b). */
#ifndef TW_SHARED_BINARY_H
#define TW_SHARED_BINARY_H

#include "alone.h"
#include "binary.h"
#include "share_of_run.h"
#include "walk_from.h"
#include "wrapping.h"

static inline TW_Y tw_one(TW_A a, TW_B b);

/* A kernel may have a function of its own for neighbours in all three: TW_NEIGHBOURS(a, b, y, n). */
#ifndef TW_NEIGHBOURS
#define TW_NEIGHBOURS(a, b, y, n) tw_run(a, 1, b, 1, y, n)
#endif

/* Four at a time, loaded before any of them is stored: a load's result is not there at once. */
static inline __attribute__((always_inline)) void tw_run(const TW_A *a, int32_t step_a, const TW_B *b, int32_t step_b,
                                                         TW_Y *y, int32_t n) {
  for (; n >= 4; n -= 4, a += 4 * step_a, b += 4 * step_b, y += 4) {
    const TW_A a0 = a[0], a1 = a[step_a], a2 = a[2 * step_a], a3 = a[3 * step_a];
    const TW_B b0 = b[0], b1 = b[step_b], b2 = b[2 * step_b], b3 = b[3 * step_b];
    y[0] = tw_one(a0, b0);
    y[1] = tw_one(a1, b1);
    y[2] = tw_one(a2, b2);
    y[3] = tw_one(a3, b3);
  }
  for (; n > 0; n--, a += step_a, b += step_b) *y++ = tw_one(*a, *b);
}

static __attribute__((noinline)) void tw_row(const TW_A *a, int32_t step_a, const TW_B *b, int32_t step_b, TW_Y *y, int32_t n) {
  if (step_a == 1 && step_b == 1) {
    TW_NEIGHBOURS(a, b, y, n);
  } else if (step_a == 1 && step_b == 0) {
    tw_run(a, 1, b, 0, y, n);
  } else {
    tw_run(a, step_a, b, step_b, y, n);
  }
}

/* Without broadcasting, or with a single element, there is one row. */
static inline void tw_one_row(const tw_binary_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_share part = tw_share_of_run(params->size[0], sizeof(TW_Y));
  const int32_t step_a = params->stride_a[0], step_b = params->stride_b[0];
  tw_row(a + part.first * step_a, step_a, b + part.first * step_b, step_b, y + part.first, part.end - part.first);
}

/* Each core takes some of the rows, or a part of each where they are few. */
static TW_COMPACT void tw_rows(const tw_binary_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const int32_t last = params->rank - 1, n = params->size[last];
  const int32_t step_a = params->stride_a[last], step_b = params->stride_b[last];
  const int32_t count = tw_walk_length(last, params->size);
  const int is_few = count < 4 * TW_CORES;
  const tw_share rows = is_few ? (tw_share){0, count} : tw_share_of(count);
  const tw_share part = is_few ? tw_share_of(n) : (tw_share){0, n};
  int32_t at_a[TW_MAX_RANK], at_b[TW_MAX_RANK];
  if (rows.first >= rows.end || part.first >= part.end) return;
  int32_t offset_a = tw_walk_from(last, params->size, params->stride_a, rows.first, at_a);
  int32_t offset_b = tw_walk_from(last, params->size, params->stride_b, rows.first, at_b);
  a += part.first * step_a;
  b += part.first * step_b;
  y += part.first;
  for (int32_t row = rows.first; row < rows.end; row++) {
    tw_row(a + offset_a, step_a, b + offset_b, step_b, y + row * n, part.end - part.first);
    tw_walk(last, params->size, params->stride_a, at_a, &offset_a);
    tw_walk(last, params->size, params->stride_b, at_b, &offset_b);
  }
}

#define TW_SHARED_BINARY(EXPRESSION)                                                    \
  static inline TW_Y tw_one(TW_A a, TW_B b) { return (TW_Y)(EXPRESSION); }              \
  void TW_NAME(const tw_binary_params *params, const TW_A *a, const TW_B *b, TW_Y *y) { \
    if (params->rank == 1) {                                                            \
      tw_one_row(params, a, b, y);                                                      \
    } else {                                                                            \
      tw_rows(params, a, b, y);                                                         \
    }                                                                                   \
  }

#endif
