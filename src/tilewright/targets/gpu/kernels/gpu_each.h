/* Makes a kernel for a GPU of a portable one whose results do not depend on each other: an item for each. It says
 * itself what the headers would that have the loops of the portable kernel. */
#ifndef TW_GPU_EACH_H
#define TW_GPU_EACH_H

#include "alone.h"
#include "binary.h"
#include "gpu.h"
#include "tw.h"
#include "unary.h"
#include "wrapping.h"

#define TW_UNARY_KERNEL_H
#define TW_BINARY_KERNEL_H
#define TW_QLINEAR_BINARY_H

static inline __attribute__((unused)) float tw_unit(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }

#define TW_UNARY(EXPRESSION)                                                                        \
  static inline TW_Y tw_one(TW_X x, float alpha, float beta) {                                      \
    (void)alpha, (void)beta;                                                                        \
    return (TW_Y)(EXPRESSION);                                                                      \
  }                                                                                                 \
  static inline tw_grid grid(const tw_unary_params *params) { return tw_items(params->count); }     \
  TW_GPU void group(const tw_unary_params *params, const TW_X *x, TW_Y *y) {                        \
    TW_ITEMS(t) {                                                                                   \
      const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;                                             \
      if (i < params->count) y[i] = tw_one(x[i], params->alpha, params->beta);                      \
    }                                                                                               \
  }                                                                                                 \
  TW_GPU_KERNEL(tw_unary_params, (const TW_X *x, TW_Y *y), (x, y))

/* How many results the loops of two operands have, and where both lie for one of them. */
static inline __attribute__((unused)) int32_t tw_binary_length(const tw_binary_params *p) {
  int32_t length = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) length *= p->size[axis];
  return length;
}

static inline __attribute__((unused)) void tw_binary_place(const tw_binary_params *p, int32_t i, int32_t *a,
                                                           int32_t *b) {
  *a = *b = 0;
  for (int32_t axis = p->rank - 1; axis >= 0; axis--) {
    const int32_t at = i % p->size[axis];
    *a += at * p->stride_a[axis];
    *b += at * p->stride_b[axis];
    i /= p->size[axis];
  }
}

#define TW_EACH_OF_TWO(PARAMS, LOOPS, ONE)                                                             \
  static inline tw_grid grid(const PARAMS *params) { return tw_items(tw_binary_length(LOOPS)); }       \
  TW_GPU void group(const PARAMS *params, const TW_A *a, const TW_B *b, TW_Y *y) {                     \
    TW_ITEMS(t) {                                                                                      \
      const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;                                                \
      if (i < tw_binary_length(LOOPS)) {                                                               \
        int32_t at_a, at_b;                                                                            \
        tw_binary_place(LOOPS, i, &at_a, &at_b);                                                       \
        y[i] = ONE(params, a[at_a], b[at_b]);                                                          \
      }                                                                                                \
    }                                                                                                  \
  }                                                                                                    \
  TW_GPU_KERNEL(PARAMS, (const TW_A *a, const TW_B *b, TW_Y *y), (a, b, y))

#define TW_BINARY(EXPRESSION)                                                                             \
  static inline TW_Y tw_one(const tw_binary_params *params, TW_A a, TW_B b) {                             \
    (void)params;                                                                                         \
    return (TW_Y)(EXPRESSION);                                                                            \
  }                                                                                                       \
  TW_EACH_OF_TWO(tw_binary_params, params, tw_one)

#define TW_QLINEAR_BINARY(PARAMS, ONE) TW_EACH_OF_TWO(PARAMS, &params->loops, ONE)

/* A result of a reduction is a group's where it is made of many elements, otherwise an item's: `reduce_one` and what it
 * calls are the portable kernel's. */
enum { TW_MANY = 64 };

static inline __attribute__((unused)) int32_t tw_offset(int32_t rank, const int32_t *size, const int32_t *stride,
                                                        int32_t i) {
  int32_t offset = 0;
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    offset += i % size[axis] * stride[axis];
    i /= size[axis];
  }
  return offset;
}

#define TW_REDUCTION                                                                                          \
  TW_GROUP_SHARED(acc_t, tw_parts, [TW_GROUP_SIZE]);                                                          \
  TW_GPU int32_t results(const tw_reduce_params *p) { return tw_walk_length(p->kept_rank, p->kept_size); }    \
  TW_GPU int32_t elements(const tw_reduce_params *p) { return tw_walk_length(p->rank, p->size); }             \
  static inline tw_grid grid(const tw_reduce_params *params) {                                                \
    const tw_grid groups = {results(params), 1, 1};                                                           \
    return elements(params) < TW_MANY ? tw_items(results(params)) : groups;                                   \
  }                                                                                                           \
  TW_GPU void each(const tw_reduce_params *params, const TW_X *x, TW_Y *y) {                                  \
    TW_ITEMS(t) {                                                                                             \
      const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;                                                       \
      if (i < results(params)) {                                                                              \
        y[i] = reduce_one(params, x + tw_offset(params->kept_rank, params->kept_size, params->kept_stride, i)); \
      }                                                                                                       \
    }                                                                                                         \
  }                                                                                                           \
  TW_GPU void together(const tw_reduce_params *params, const TW_X *x, TW_Y *y) {                              \
    const int32_t count = elements(params);                                                                   \
    x += tw_offset(params->kept_rank, params->kept_size, params->kept_stride, TW_GROUP_X);                    \
    TW_ITEMS(t) {                                                                                             \
      acc_t total = start();                                                                                  \
      for (int32_t i = t; i < count; i += TW_GROUP_SIZE) {                                                    \
        total = step(total, x[tw_offset(params->rank, params->size, params->stride, i)]);                     \
      }                                                                                                       \
      tw_parts[t] = total;                                                                                    \
    }                                                                                                         \
    TW_MEET();                                                                                                \
    for (int32_t half = TW_GROUP_SIZE / 2; half > 0; half /= 2) {                                             \
      TW_ITEMS(t) {                                                                                           \
        if (t < half) tw_parts[t] = join(tw_parts[t], tw_parts[t + half]);                                    \
      }                                                                                                       \
      TW_MEET();                                                                                              \
    }                                                                                                         \
    TW_ITEMS(t) {                                                                                             \
      if (t == 0) y[TW_GROUP_X] = finish(tw_parts[0], params);                                                \
    }                                                                                                         \
  }                                                                                                           \
  TW_GPU void group(const tw_reduce_params *params, const TW_X *x, TW_Y *y) {                                 \
    if (elements(params) < TW_MANY) {                                                                         \
      each(params, x, y);                                                                                     \
    } else {                                                                                                  \
      together(params, x, y);                                                                                 \
    }                                                                                                         \
  }                                                                                                           \
  TW_GPU_KERNEL(tw_reduce_params, (const TW_X *x, TW_Y *y), (x, y))

#endif
