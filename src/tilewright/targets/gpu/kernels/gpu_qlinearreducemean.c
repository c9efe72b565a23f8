/* y = requant(sum(x - x_zero) * mul / count) over some axes: several items for each result, and several results for each
 * group unless they are made of many elements. Items that are neighbours read neighbours: those of one result, or of
 * neighbouring results. */
#include "gpu.h"
#include "gpu_unroll.h"
#include "qlinear_mean.h"
#include "qlinearreducemean.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_qlinearreducemean
#define TW_X int8_t
#define TW_Y int8_t
#endif

enum { TW_MANY_ELEMENTS = 1024, TW_SHARERS_OF_FEW = 16 };

TW_GROUP_SHARED(int32_t, found, [TW_GROUP_SIZE]);

TW_GPU int32_t results(const tw_reduce_params *p) { return tw_walk_length(p->kept_rank, p->kept_size); }
TW_GPU int32_t elements(const tw_reduce_params *p) { return tw_walk_length(p->rank, p->size); }

/* Items that share a result. */
TW_GPU int32_t sharers(const tw_reduce_params *p) {
  return elements(p) < TW_MANY_ELEMENTS ? TW_SHARERS_OF_FEW : TW_GROUP_SIZE;
}

static inline tw_grid grid(const tw_qlinearreducemean_params *params) {
  const int32_t together = TW_GROUP_SIZE / sharers(&params->loops);
  const tw_grid groups = {(results(&params->loops) + together - 1) / together, 1, 1};
  return groups;
}

static inline int32_t offset_of(int32_t rank, const int32_t *size, const int32_t *stride, int32_t i) {
  int32_t offset = 0;
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    offset += i % size[axis] * stride[axis];
    i /= size[axis];
  }
  return offset;
}

/* Of every so many elements, from the first on. */
TW_GPU int32_t part_of_sum(const tw_qlinearreducemean_params *params, const TW_X *x, int32_t first, int32_t step) {
  const tw_reduce_params *const loops = &params->loops;
  const int32_t count = elements(loops), apart = loops->rank == 1 ? loops->stride[0] : 0;
  int32_t total = 0;
  TW_UNROLL_BY(4)
  for (int32_t i = first; i < count; i += step) {
    total += x[apart ? i * apart : offset_of(loops->rank, loops->size, loops->stride, i)] - params->x_zero;
  }
  return total;
}

TW_GPU void group(const tw_qlinearreducemean_params *params, const TW_X *x, TW_Y *y) {
  const tw_reduce_params *const loops = &params->loops;
  const int32_t sharing = sharers(loops), together = TW_GROUP_SIZE / sharing, first = TW_GROUP_X * together;
  const int32_t are_apart = loops->kept_rank == 0 || loops->kept_stride[loops->kept_rank - 1] != 1;
  TW_ITEMS(t) {
    const int32_t result = are_apart ? t / sharing : t % together, share = are_apart ? t % sharing : t / together;
    if (first + result < results(loops)) {
      const TW_X *const from = x + offset_of(loops->kept_rank, loops->kept_size, loops->kept_stride, first + result);
      found[share * together + result] = part_of_sum(params, from, share, sharing);
    }
  }
  TW_MEET();
  for (int32_t half = TW_GROUP_SIZE / 2; half >= together; half /= 2) {
    TW_ITEMS(t) {
      if (t < half) found[t] += found[t + half];
    }
    TW_MEET();
  }
  TW_ITEMS(t) {
    if (t < together && first + t < results(loops)) {
      y[first + t] = (TW_Y)tw_mean(&params->requant, found[t], loops->count, params->mul);
    }
  }
}

TW_GPU_KERNEL(tw_qlinearreducemean_params, (const TW_X *x, TW_Y *y), (x, y))
