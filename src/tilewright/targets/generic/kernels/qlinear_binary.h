/* Defines a kernel on two quantised tensors, broadcast: TW_QLINEAR_BINARY(parameter struct, function of one element). */
#ifndef TW_QLINEAR_BINARY_H
#define TW_QLINEAR_BINARY_H

#include "binary_kernel.h"

/* Rows with unit or zero strides are loops of their own, which compilers vectorise. */
#define TW_QLINEAR_BINARY(PARAMS, ONE)                                                            \
  void TW_NAME(const PARAMS *params, const TW_A *a_all, const TW_B *b_all, TW_Y *y) {             \
    const PARAMS p = *params;                                                                     \
    const int32_t last = p.loops.rank - 1, n = p.loops.size[last];                                \
    const int32_t step_a = p.loops.stride_a[last], step_b = p.loops.stride_b[last];               \
    int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;                                    \
    if (n == 0) return;                                                                           \
    do {                                                                                          \
      const TW_A *a = a_all + offset_a;                                                           \
      const TW_B *b = b_all + offset_b;                                                           \
      if (step_a == 1 && step_b == 1) {                                                           \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = ONE(&p, a[i], b[i]);                \
      } else if (step_a == 1 && step_b == 0) {                                                    \
        const TW_B fixed = *b;                                                                    \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = ONE(&p, a[i], fixed);               \
      } else if (step_a == 0 && step_b == 1) {                                                    \
        const TW_A fixed = *a;                                                                    \
        TW_INDEPENDENT for (int32_t i = 0; i < n; i++) y[i] = ONE(&p, fixed, b[i]);               \
      } else {                                                                                    \
        for (int32_t i = 0; i < n; i++) y[i] = ONE(&p, a[i * step_a], b[i * step_b]);             \
      }                                                                                           \
      y += n;                                                                                     \
    } while (tw_binary_next_row(&p.loops, at, &offset_a, &offset_b));                             \
  }

#endif
