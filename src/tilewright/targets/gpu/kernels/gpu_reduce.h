/* Reductions. A result is made by one item where it is made of few elements, by a whole group where it is made of many,
 * and otherwise by TW_SHARERS items, so that a group makes several. Items that are neighbours read neighbours: those of
 * one result, or of neighbouring results. */
#ifndef TW_GPU_REDUCE_H
#define TW_GPU_REDUCE_H

#include "gpu.h"
#include "gpu_stored.h"
#include "gpu_unroll.h"
#include "reduce.h"

enum { TW_FEW = 8, TW_MANY = 1024, TW_SHARERS = 16 };

TW_GPU int32_t tw_results(const tw_reduce_params *p) { return tw_walk_length(p->kept_rank, p->kept_size); }
TW_GPU int32_t tw_elements(const tw_reduce_params *p) { return tw_walk_length(p->rank, p->size); }

/* Items that share a result. */
TW_GPU int32_t tw_sharers(const tw_reduce_params *p) {
  const int32_t elements = tw_elements(p);
  return elements < TW_FEW ? 1 : elements < TW_MANY ? TW_SHARERS : TW_GROUP_SIZE;
}

static inline tw_grid tw_reduction_grid(const tw_reduce_params *p) {
  const int32_t together = TW_GROUP_SIZE / tw_sharers(p);
  const tw_grid groups = {(tw_results(p) + together - 1) / together, 1, 1};
  return groups;
}

TW_GPU int32_t tw_offset(int32_t rank, const int32_t *size, const int32_t *stride, int32_t i) {
  int32_t offset = 0;
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    offset += i % size[axis] * stride[axis];
    i /= size[axis];
  }
  return offset;
}

TW_GPU int32_t tw_results_are_apart(const tw_reduce_params *p) {
  return p->kept_rank == 0 || p->kept_stride[p->kept_rank - 1] != 1;
}

/* What a kernel does that has acc_t, start(), step(), join() and finish(), as reduce_loops.h wants them. */
#define TW_REDUCE(PARAMS, LOOPS, X, Y)                                                                               \
  TW_GROUP_SHARED(acc_t, tw_parts, [TW_GROUP_SIZE]);                                                                 \
  static inline tw_grid grid(const PARAMS *params) { return tw_reduction_grid(LOOPS); }                              \
  /* Of every so many elements, from the first on. */                                                                \
  TW_GPU acc_t tw_part(const tw_reduce_params *p, const X *x, int32_t first, int32_t every) {                        \
    acc_t total = start();                                                                                           \
    const int32_t length = tw_elements(p), apart = p->rank == 1 ? p->stride[0] : 0;                                  \
    TW_UNROLL_BY(4)                                                                                                  \
    for (int32_t i = first; i < length; i += every) {                                                                \
      const int32_t at = apart ? i * apart : tw_offset(p->rank, p->size, p->stride, i);                              \
      total = step(total, TW_X_LOAD(x[at]));                                                                         \
    }                                                                                                                \
    return total;                                                                                                    \
  }                                                                                                                  \
  TW_GPU void group(const PARAMS *params, const X *x, Y *y) {                                                        \
    const tw_reduce_params *const p = LOOPS;                                                                         \
    const int32_t sharing = tw_sharers(p), together = TW_GROUP_SIZE / sharing, apart = tw_results_are_apart(p);      \
    const int32_t first = TW_GROUP_X * together, left = tw_results(p) - first;                                       \
    TW_ITEMS(t) {                                                                                                    \
      const int32_t result = apart ? t / sharing : t % together, share = apart ? t % sharing : t / together;         \
      const int32_t from = tw_offset(p->kept_rank, p->kept_size, p->kept_stride, first + result);                    \
      tw_parts[share * together + result] = result < left ? tw_part(p, x + from, share, sharing) : start();          \
    }                                                                                                                \
    TW_MEET();                                                                                                       \
    for (int32_t half = TW_GROUP_SIZE / 2; half >= together; half /= 2) {                                            \
      TW_ITEMS(t) {                                                                                                  \
        if (t < half) tw_parts[t] = join(tw_parts[t], tw_parts[t + half]);                                           \
      }                                                                                                              \
      TW_MEET();                                                                                                     \
    }                                                                                                                \
    TW_ITEMS(t) {                                                                                                    \
      if (t < together && t < left) y[first + t] = TW_Y_STORE(finish(tw_parts[t], params));                          \
    }                                                                                                                \
  }                                                                                                                  \
  TW_GPU_KERNEL(PARAMS, (const X *x, Y *y), (x, y))

#endif
