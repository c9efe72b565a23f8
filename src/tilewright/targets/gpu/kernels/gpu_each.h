/* Makes a kernel for a GPU of a portable one whose results do not depend on each other: an item for each. It says
 * itself what the headers would that have the loops of the portable kernel. */
#ifndef TW_GPU_EACH_H
#define TW_GPU_EACH_H

#include "alone.h"
#include "binary.h"
#include "gpu.h"
#include "gpu_binary.h"
#include "gpu_stored.h"
#include "gpu_unroll.h"
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

/* A result of a reduction is made by one item where it is made of few elements, by a whole group where it is made of
 * many, and otherwise by TW_SHARERS items, so that a group makes TW_TOGETHER results: what becomes of an element is the
 * portable kernel's. Items that are neighbours read neighbours: those of one result, or of neighbouring results. */
enum { TW_FEW = 8, TW_MANY = 1024, TW_SHARERS = 16, TW_TOGETHER = TW_GROUP_SIZE / TW_SHARERS };

static inline __attribute__((unused)) int32_t tw_offset(int32_t rank, const int32_t *size, const int32_t *stride,
                                                        int32_t i) {
  int32_t offset = 0;
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    offset += i % size[axis] * stride[axis];
    i /= size[axis];
  }
  return offset;
}

#define TW_REDUCTION                                                                                        \
  TW_GROUP_SHARED(acc_t, tw_parts, [TW_GROUP_SIZE]);                                                        \
  TW_GPU int32_t results(const tw_reduce_params *p) { return tw_walk_length(p->kept_rank, p->kept_size); }  \
  TW_GPU int32_t elements(const tw_reduce_params *p) { return tw_walk_length(p->rank, p->size); }           \
  static inline tw_grid grid(const tw_reduce_params *params) {                                              \
    const int32_t count = results(params), length = elements(params);                                       \
    const tw_grid groups = {length < TW_MANY ? (count + TW_TOGETHER - 1) / TW_TOGETHER : count, 1, 1};      \
    return length < TW_FEW ? tw_items(count) : groups;                                                      \
  }                                                                                                         \
  /* Of every so many elements, from the first on. */                                                       \
  TW_GPU acc_t parted(const tw_reduce_params *p, const tw_x_stored *x, int32_t first, int32_t step_of) {    \
    acc_t total = start();                                                                                  \
    const int32_t length = elements(p), apart = p->rank == 1 ? p->stride[0] : 0;                            \
    TW_UNROLL_BY(4)                                                                                         \
    for (int32_t i = first; i < length; i += step_of) {                                                     \
      const int32_t at = apart ? i * apart : tw_offset(p->rank, p->size, p->stride, i);                     \
      total = step(total, TW_X_LOAD(x[at]));                                                                \
    }                                                                                                       \
    return total;                                                                                           \
  }                                                                                                         \
  TW_GPU void each(const tw_reduce_params *params, const tw_x_stored *x, tw_y_stored *y) {                  \
    TW_ITEMS(t) {                                                                                           \
      const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;                                                     \
      if (i < results(params)) {                                                                            \
        const tw_x_stored *const from =                                                                     \
            x + tw_offset(params->kept_rank, params->kept_size, params->kept_stride, i);                    \
        y[i] = TW_Y_STORE(finish(parted(params, from, 0, 1), params));                                      \
      }                                                                                                     \
    }                                                                                                       \
  }                                                                                                         \
  TW_GPU int32_t rows_apart(const tw_reduce_params *p) {                                                       \
    return p->kept_rank == 0 || p->kept_stride[p->kept_rank - 1] != 1;                                         \
  }                                                                                                            \
  TW_GPU int32_t result_of(const tw_reduce_params *params, int32_t t) {                                     \
    return rows_apart(params) ? t / TW_SHARERS : t % TW_TOGETHER;                                           \
  }                                                                                                         \
  TW_GPU int32_t share_of(const tw_reduce_params *params, int32_t t) {                                      \
    return rows_apart(params) ? t % TW_SHARERS : t / TW_TOGETHER;                                           \
  }                                                                                                         \
  TW_GPU void shared(const tw_reduce_params *params, const tw_x_stored *x, tw_y_stored *y) {                \
    const int32_t first = TW_GROUP_X * TW_TOGETHER, count = results(params);                                \
    TW_ITEMS(t) {                                                                                           \
      const int32_t result = result_of(params, t), share = share_of(params, t);                             \
      if (first + result < count) {                                                                         \
        const tw_x_stored *const from =                                                                     \
            x + tw_offset(params->kept_rank, params->kept_size, params->kept_stride, first + result);       \
        tw_parts[share * TW_TOGETHER + result] = parted(params, from, share, TW_SHARERS);                   \
      }                                                                                                     \
    }                                                                                                       \
    TW_MEET();                                                                                              \
    TW_ITEMS(t) {                                                                                           \
      if (t < TW_TOGETHER && first + t < count) {                                                           \
        acc_t total = tw_parts[t];                                                                          \
        for (int32_t share = 1; share < TW_SHARERS; share++) {                                              \
          total = join(total, tw_parts[share * TW_TOGETHER + t]);                                           \
        }                                                                                                   \
        y[first + t] = TW_Y_STORE(finish(total, params));                                                   \
      }                                                                                                     \
    }                                                                                                       \
  }                                                                                                         \
  TW_GPU void together(const tw_reduce_params *params, const tw_x_stored *x, tw_y_stored *y) {              \
    x += tw_offset(params->kept_rank, params->kept_size, params->kept_stride, TW_GROUP_X);                  \
    TW_ITEMS(t) { tw_parts[t] = parted(params, x, t, TW_GROUP_SIZE); }                                      \
    TW_MEET();                                                                                              \
    for (int32_t half = TW_GROUP_SIZE / 2; half > 0; half /= 2) {                                           \
      TW_ITEMS(t) {                                                                                         \
        if (t < half) tw_parts[t] = join(tw_parts[t], tw_parts[t + half]);                                  \
      }                                                                                                     \
      TW_MEET();                                                                                            \
    }                                                                                                       \
    TW_ITEMS(t) {                                                                                           \
      if (t == 0) y[TW_GROUP_X] = TW_Y_STORE(finish(tw_parts[0], params));                                  \
    }                                                                                                       \
  }                                                                                                         \
  TW_GPU void group(const tw_reduce_params *params, const tw_x_stored *x, tw_y_stored *y) {                 \
    if (elements(params) < TW_FEW) {                                                                        \
      each(params, x, y);                                                                                   \
    } else if (elements(params) < TW_MANY) {                                                                \
      shared(params, x, y);                                                                                 \
    } else {                                                                                                \
      together(params, x, y);                                                                               \
    }                                                                                                       \
  }                                                                                                         \
  TW_GPU_KERNEL(tw_reduce_params, (const tw_x_stored *x, tw_y_stored *y), (x, y))

#endif
