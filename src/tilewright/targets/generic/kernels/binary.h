#ifndef TW_BINARY_H
#define TW_BINARY_H

#include "tw.h"

/* A loop nest over the result; each operand advances by its stride per loop, 0 where it is broadcast.
 * The result is contiguous and may lie in the place of an operand that is not broadcast. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride_a[TW_MAX_RANK];
  int32_t stride_b[TW_MAX_RANK];
} tw_binary_params;

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

/* Defines the kernel for y = EXPRESSION of a and b. Rows with unit or zero strides are loops of their own, which
 * compilers vectorise. */
#define TW_BINARY_KERNEL(NAME, TA, TB, TY, EXPRESSION)                                       \
  static inline TY NAME##_one(TA a, TB b) { return (TY)(EXPRESSION); }                       \
  void NAME(const tw_binary_params *params, const TA *a_all, const TB *b_all, TY *y) {       \
    const int32_t n = params->size[params->rank - 1];                                        \
    const int32_t step_a = params->stride_a[params->rank - 1];                               \
    const int32_t step_b = params->stride_b[params->rank - 1];                               \
    int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;                               \
    do {                                                                                     \
      const TA *a = a_all + offset_a;                                                        \
      const TB *b = b_all + offset_b;                                                        \
      if (step_a == 1 && step_b == 1) {                                                      \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = NAME##_one(a[i], b[i]);        \
      } else if (step_a == 1 && step_b == 0) {                                               \
        const TB fixed = *b;                                                                 \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = NAME##_one(a[i], fixed);       \
      } else if (step_a == 0 && step_b == 1) {                                               \
        const TA fixed = *a;                                                                 \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = NAME##_one(fixed, b[i]);       \
      } else {                                                                               \
        for (int32_t i = 0; i < n; i++) y[i] = NAME##_one(a[i * step_a], b[i * step_b]);     \
      }                                                                                      \
      y += n;                                                                                \
    } while (tw_binary_next_row(params, at, &offset_a, &offset_b));                          \
  }

#endif
