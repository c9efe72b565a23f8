/* The loops of reductions of floats, all cores together. A kernel includes this after it has said what it does:
 *   float start(void)                    of no elements
 *   float with(float total, float x)     with one more element
 *   float join(float a, float b)         of two parts
 *   float finish(float total, params)    the result */
#ifndef TW_REDUCE_FLOATS_H
#define TW_REDUCE_FLOATS_H

#include "cluster.h"
#include "reduce.h"
#include "walk_from.h"

/* Elements that are `step` apart, in four chains: a sum is not there at once. */
static inline __attribute__((always_inline)) float with_run(float total, const float *x, int32_t count, int32_t step) {
  float t0 = start(), t1 = start(), t2 = start();
  for (; count >= 4; count -= 4, x += 4 * step) {
    const float x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step];
    t0 = with(t0, x0), t1 = with(t1, x1), t2 = with(t2, x2), total = with(total, x3);
  }
  for (; count > 0; count--, x += step) total = with(total, *x);
  return join(join(t0, t1), join(t2, total));
}

static float one_result(const tw_reduce_params *params, const float *x) {
  const int32_t last = params->rank - 1, count = params->size[last], step = params->stride[last];
  const int32_t runs = tw_walk_length(last, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  float total = start();
  for (int32_t run = 0; run < runs; run++) {
    total = step == 1 ? with_run(total, x + offset, count, 1) : with_run(total, x + offset, count, step);
    tw_walk(last, params->size, params->stride, at, &offset);
  }
  return finish(total, params);
}

/* Four results that are neighbours in x as well. */
static void four_results(const tw_reduce_params *params, const float *x, float *y) {
  const int32_t last = params->rank - 1, step = params->stride[last];
  const int32_t runs = tw_walk_length(last, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  float t0 = start(), t1 = start(), t2 = start(), t3 = start();
  for (int32_t run = 0; run < runs; run++) {
    const float *from = x + offset;
    for (int32_t i = params->size[last]; i > 0; i--, from += step) {
      const float x0 = from[0], x1 = from[1], x2 = from[2], x3 = from[3];
      t0 = with(t0, x0), t1 = with(t1, x1), t2 = with(t2, x2), t3 = with(t3, x3);
    }
    tw_walk(last, params->size, params->stride, at, &offset);
  }
  y[0] = finish(t0, params), y[1] = finish(t1, params), y[2] = finish(t2, params), y[3] = finish(t3, params);
}

void TW_NAME(const tw_reduce_params *params, const float *x, float *y) {
  const int32_t last = params->kept_rank - 1, columns = params->kept_size[last], step = params->kept_stride[last];
  const int32_t wide = step == 1 ? 4 : 1, pieces = (columns + wide - 1) / wide;
  const tw_share share = tw_share_of(pieces * tw_walk_length(last, params->kept_size));
  if (share.first >= share.end) return;
  int32_t at[TW_MAX_RANK], row = share.first / pieces, column = wide * (share.first - row * pieces);
  int32_t offset = tw_walk_from(last, params->kept_size, params->kept_stride, row, at);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t end = column + wide <= columns ? column + wide : columns;
    if (end - column == 4) {
      four_results(params, x + offset + column, y + row * columns + column);
    } else {
      for (int32_t c = column; c < end; c++) y[row * columns + c] = one_result(params, x + offset + c * step);
    }
    column = end;
    if (column < columns) continue;
    column = 0;
    row++;
    tw_walk(last, params->kept_size, params->kept_stride, at, &offset);
  }
}

#endif
