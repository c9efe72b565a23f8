/* y = requant(sum(x - x_zero) * mul / count) over some axes: a group for each result, of few items as there are
 * as many results as channels */
#define TW_GROUP_SIZE 64
#include "gpu.h"
#include "qlinear_mean.h"
#include "qlinearreducemean.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_qlinearreducemean
#define TW_X int8_t
#define TW_Y int8_t
#endif

TW_GROUP_SHARED(int32_t, found, [TW_GROUP_SIZE]);

static inline tw_grid grid(const tw_qlinearreducemean_params *params) {
  const tw_grid groups = {tw_walk_length(params->loops.kept_rank, params->loops.kept_size), 1, 1};
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

TW_GPU void group(const tw_qlinearreducemean_params *params, const TW_X *x, TW_Y *y) {
  const tw_reduce_params *const loops = &params->loops;
  const int32_t count = tw_walk_length(loops->rank, loops->size);
  x += offset_of(loops->kept_rank, loops->kept_size, loops->kept_stride, TW_GROUP_X);
  TW_ITEMS(t) {
    int32_t total = 0;
    for (int32_t i = t; i < count; i += TW_GROUP_SIZE) {
      total += x[offset_of(loops->rank, loops->size, loops->stride, i)] - params->x_zero;
    }
    found[t] = total;
  }
  TW_MEET();
  for (int32_t half = TW_GROUP_SIZE / 2; half > 0; half /= 2) {
    TW_ITEMS(t) {
      if (t < half) found[t] += found[t + half];
    }
    TW_MEET();
  }
  TW_ITEMS(t) {
    if (t == 0) y[TW_GROUP_X] = (TW_Y)tw_mean(&params->requant, found[0], loops->count, params->mul);
  }
}

TW_GPU_KERNEL(tw_qlinearreducemean_params, (const TW_X *x, TW_Y *y), (x, y))
