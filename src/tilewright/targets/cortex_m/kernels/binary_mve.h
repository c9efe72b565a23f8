/* Defines a kernel on two quantised tensors, broadcast, four results at a time: TW_BINARY_MVE(parameter struct, what is
 * the same for all results, function that prepares it, function of four). Needs TW_A, TW_B, TW_Y. */
#ifndef TW_BINARY_MVE_H
#define TW_BINARY_MVE_H

#include "binary_kernel.h"
#include "elements_mve.h"

/* A row with steps of 0 or 1. */
#define TW_BINARY_MVE(PARAMS, CONSTANTS, PREPARE, FOUR)                                                     \
  TW_ALWAYS void tw_row(const PARAMS *p, int32_t n, const TW_A *a, int a_moves, const TW_B *b, int b_moves, \
                        TW_Y *y) {                                                                          \
    const CONSTANTS k = PREPARE(p);                                                                         \
    const int32x4_t fixed_a = vdupq_n_s32(a_moves ? 0 : (int32_t)*a);                                       \
    const int32x4_t fixed_b = vdupq_n_s32(b_moves ? 0 : (int32_t)*b);                                       \
    for (; n > 0; n -= TW_LANES, a += TW_LANES, b += TW_LANES, y += TW_LANES) {                             \
      const mve_pred16_t some = vctp32q((uint32_t)n);                                                       \
      const int32x4_t four_a = a_moves ? TW_FOUR(TW_A, a, some) : fixed_a;                                  \
      const int32x4_t four_b = b_moves ? TW_FOUR(TW_B, b, some) : fixed_b;                                  \
      TW_PUT_FOUR(TW_Y, y, FOUR(&k, four_a, four_b), some);                                                 \
    }                                                                                                       \
  }                                                                                                         \
  void TW_NAME(const PARAMS *params, const TW_A *a_all, const TW_B *b_all, TW_Y *y) {                       \
    const tw_binary_params *const loops = &params->loops;                                                   \
    const int32_t last = loops->rank - 1, n = loops->size[last];                                            \
    const int32_t step_a = loops->stride_a[last], step_b = loops->stride_b[last];                           \
    int32_t at[TW_MAX_RANK] = {0}, offset_a = 0, offset_b = 0;                                              \
    for (int32_t axis = 0; axis <= last; axis++) {                                                          \
      if (loops->size[axis] == 0) return;                                                                   \
    }                                                                                                       \
    do {                                                                                                    \
      if (step_a && step_b) {                                                                               \
        tw_row(params, n, a_all + offset_a, 1, b_all + offset_b, 1, y);                                     \
      } else if (step_a) {                                                                                  \
        tw_row(params, n, a_all + offset_a, 1, b_all + offset_b, 0, y);                                     \
      } else {                                                                                              \
        tw_row(params, n, a_all + offset_a, 0, b_all + offset_b, step_b, y);                                \
      }                                                                                                     \
      y += n;                                                                                               \
    } while (tw_binary_next_row(loops, at, &offset_a, &offset_b));                                          \
  }

#endif
