/* Defines a kernel that takes two tensors element by element, broadcast: TW_BINARY(expression of a and b). */
#ifndef TW_BINARY_KERNEL_H
#define TW_BINARY_KERNEL_H

#include "alone.h"
#include "binary.h"
#include "wrapping.h"

/* The odometer over all loops but the innermost: moves a and b to the next row, returns 0 after the last. */
static inline int tw_binary_next_row(const tw_binary_params *p, int32_t *at, int32_t *a, int32_t *b) {
  for (int32_t axis = p->rank - 2; axis >= 0; axis--) {
    *a += p->stride_a[axis];
    *b += p->stride_b[axis];
    if (++at[axis] < p->size[axis]) return 1;
    *a -= p->stride_a[axis] * p->size[axis];
    *b -= p->stride_b[axis] * p->size[axis];
    at[axis] = 0;
  }
  return 0;
}

/* Rows with unit or zero strides are loops of their own, which compilers vectorise. */
#define TW_BINARY(EXPRESSION)                                                                   \
  static inline TW_Y tw_one(TW_A a, TW_B b) { return (TW_Y)(EXPRESSION); }                      \
  void TW_NAME(const tw_binary_params *params, const TW_A *a_all, const TW_B *b_all, TW_Y *y) { \
    const int32_t n = params->size[params->rank - 1];                                           \
    const int32_t step_a = params->stride_a[params->rank - 1];                                  \
    const int32_t step_b = params->stride_b[params->rank - 1];                                  \
    int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;                                  \
    do {                                                                                        \
      const TW_A *a = a_all + offset_a;                                                         \
      const TW_B *b = b_all + offset_b;                                                         \
      if (step_a == 1 && step_b == 1) {                                                         \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = tw_one(a[i], b[i]);               \
      } else if (step_a == 1 && step_b == 0) {                                                  \
        const TW_B fixed = *b;                                                                  \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = tw_one(a[i], fixed);              \
      } else if (step_a == 0 && step_b == 1) {                                                  \
        const TW_A fixed = *a;                                                                  \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = tw_one(fixed, b[i]);              \
      } else {                                                                                  \
        for (int32_t i = 0; i < n; i++) y[i] = tw_one(a[i * step_a], b[i * step_b]);            \
      }                                                                                         \
      y += n;                                                                                   \
    } while (tw_binary_next_row(params, at, &offset_a, &offset_b));                             \
  }

#endif
