/* Makes a kernel for a GPU of a portable one whose results do not depend on each other: an item for each. It says
 * itself what the headers would that have the loops of the portable kernel. */
#ifndef TW_GPU_EACH_H
#define TW_GPU_EACH_H

#include "alone.h"
#include "binary.h"
#include "gpu.h"
#include "gpu_binary.h"
#include "gpu_reduce.h"
#include "gpu_stored.h"
#include "nan.h"
#include "tw.h"
#include "unary.h"
#include "wrapping.h"

#define TW_UNARY_KERNEL_H
#define TW_BINARY_KERNEL_H
#define TW_QLINEAR_BINARY_H

/* As elements lie in memory; the portable kernel sees what is computed with. */
#ifdef TW_X
typedef TW_X tw_x_stored;
#if TW_X_IS_HALF
#undef TW_X
#define TW_X float
#endif
#endif
#ifdef TW_A
typedef TW_A tw_a_stored;
typedef TW_B tw_b_stored;
#if TW_A_IS_HALF
#undef TW_A
#define TW_A float
#endif
#if TW_B_IS_HALF
#undef TW_B
#define TW_B float
#endif
#endif
typedef TW_Y tw_y_stored;
#if TW_Y_IS_HALF
#undef TW_Y
#define TW_Y float
#endif

static inline __attribute__((unused)) float tw_unit(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }

#define TW_UNARY(EXPRESSION)                                                                        \
  static inline TW_Y tw_one(TW_X x, float alpha, float beta) {                                      \
    (void)alpha, (void)beta;                                                                        \
    return (TW_Y)(EXPRESSION);                                                                      \
  }                                                                                                 \
  static inline tw_grid grid(const tw_unary_params *params) { return tw_items(params->count); }     \
  TW_GPU void group(const tw_unary_params *params, const tw_x_stored *x, tw_y_stored *y) {                        \
    TW_ITEMS(t) {                                                                                   \
      const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;                                             \
      if (i < params->count) y[i] = TW_Y_STORE(tw_one(TW_X_LOAD(x[i]), params->alpha, params->beta));                      \
    }                                                                                               \
  }                                                                                                 \
  TW_GPU_KERNEL(tw_unary_params, (const tw_x_stored *x, tw_y_stored *y), (x, y))

#define TW_EACH_OF_TWO(PARAMS, LOOPS, ONE)                                                             \
  static inline tw_grid grid(const PARAMS *params) { return tw_items(tw_binary_length(LOOPS)); }       \
  TW_GPU void group(const PARAMS *params, const tw_a_stored *a, const tw_b_stored *b, tw_y_stored *y) {                     \
    TW_ITEMS(t) {                                                                                      \
      const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;                                                \
      if (i < tw_binary_length(LOOPS)) {                                                               \
        int32_t at_a, at_b;                                                                            \
        tw_binary_place(LOOPS, i, &at_a, &at_b);                                                       \
        y[i] = TW_Y_STORE(ONE(params, TW_A_LOAD(a[at_a]), TW_B_LOAD(b[at_b])));                                                          \
      }                                                                                                \
    }                                                                                                  \
  }                                                                                                    \
  TW_GPU_KERNEL(PARAMS, (const tw_a_stored *a, const tw_b_stored *b, tw_y_stored *y), (a, b, y))

#define TW_BINARY(EXPRESSION)                                                                             \
  static inline TW_Y tw_one(const tw_binary_params *params, TW_A a, TW_B b) {                             \
    (void)params;                                                                                         \
    return (TW_Y)(EXPRESSION);                                                                            \
  }                                                                                                       \
  TW_EACH_OF_TWO(tw_binary_params, params, tw_one)

#define TW_QLINEAR_BINARY(PARAMS, ONE) TW_EACH_OF_TWO(PARAMS, &params->loops, ONE)

/* What becomes of an element is the portable kernel's. */
#define TW_REDUCTION TW_REDUCE(tw_reduce_params, params, tw_x_stored, tw_y_stored)

#endif
