/* y = requant(sum(x - x_zero) * mul / count) over some axes */
#include "qlinearreducemean.h"

#include "qlinear_mean.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

static int32_t sum(const tw_reduce_params *loops, const TW_X *x, int32_t x_zero) {
  const int32_t last = loops->rank - 1, n = loops->size[last], step = loops->stride[last];
  const int32_t rows = tw_walk_length(last, loops->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0, total = 0;
  for (int32_t row = 0; row < rows; row++) {
    for (int32_t i = 0; i < n; i++) total += x[offset + i * step] - x_zero;
    tw_walk(last, loops->size, loops->stride, at, &offset);
  }
  return total;
}

void TW_NAME(const tw_qlinearreducemean_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearreducemean_params p = *params;
  const int32_t results = tw_walk_length(p.loops.kept_rank, p.loops.kept_size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  for (int32_t i = 0; i < results; i++) {
    y[i] = (TW_Y)tw_mean(&p.requant, sum(&p.loops, x + offset, p.x_zero), p.loops.count, p.mul);
    tw_walk(p.loops.kept_rank, p.loops.kept_size, p.loops.kept_stride, at, &offset);
  }
}
