/* The loops of reductions of floats, all cores together. A kernel includes this after it has said what it does:
 *   float start(void)                    of no elements
 *   float with(float total, float x)     with one more element
 *   float join(float a, float b)         of two parts
 *   float finish(float total, params)    the result */
#ifndef TW_REDUCE_FLOATS_H
#define TW_REDUCE_FLOATS_H

#include "cluster.h"
#include "reduce_floats_sizes.h"
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

/* All elements of one result, of those along the last axis `count` from the first on. In its own function, so that the
 * loop over results stays small. */
static __attribute__((noinline)) float one_total(const tw_reduce_params *params, const float *x, int32_t first, int32_t count) {
  const int32_t last = params->rank - 1, step = params->stride[last];
  const int32_t runs = tw_walk_length(last, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = first * step;
  float total = start();
  for (int32_t run = 0; run < runs; run++) {
    total = step == 1 ? with_run(total, x + offset, count, 1) : with_run(total, x + offset, count, step);
    tw_walk(last, params->size, params->stride, at, &offset);
  }
  return total;
}

/* The same of four results that are neighbours in x as well. */
static __attribute__((noinline)) void four_totals(const tw_reduce_params *params, const float *x, int32_t first, int32_t count,
                                                  float *total) {
  const int32_t last = params->rank - 1, step = params->stride[last];
  const int32_t runs = tw_walk_length(last, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = first * step;
  float t0 = start(), t1 = start(), t2 = start(), t3 = start();
  for (int32_t run = 0; run < runs; run++) {
    const float *from = x + offset;
    for (int32_t i = count; i > 0; i--, from += step) {
      const float x0 = from[0], x1 = from[1], x2 = from[2], x3 = from[3];
      t0 = with(t0, x0), t1 = with(t1, x1), t2 = with(t2, x2), t3 = with(t3, x3);
    }
    tw_walk(last, params->size, params->stride, at, &offset);
  }
  total[0] = t0, total[1] = t1, total[2] = t2, total[3] = t3;
}

/* Where results are that are neighbours: four of a row, if they are neighbours in x as well, otherwise one. */
static inline int32_t width_of(const tw_reduce_params *params) {
  return params->kept_stride[params->kept_rank - 1] == 1 ? 4 : 1;
}

static inline int32_t pieces_of_row(const tw_reduce_params *params, int32_t wide) {
  return (params->kept_size[params->kept_rank - 1] + wide - 1) / wide;
}

/* Few results: several cores share the elements of each piece. */
static TW_COMPACT void share_pieces(const tw_reduce_params *params, const float *x, float *y, int32_t pieces, float *totals) {
  const int32_t last = params->kept_rank - 1, columns = params->kept_size[last], wide = width_of(params);
  const int32_t in_row = pieces_of_row(params, wide), length = params->size[params->rank - 1];
  const int32_t parts = TW_CORES / pieces, core = tw_core(), number = core / parts, part = core - number * parts;
  const int32_t row = number / in_row, column = wide * (number - row * in_row), count = tw_min(wide, columns - column);
  const tw_share own = {length * part / parts, length * (part + 1) / parts};
  float *const total = totals + 4 * core;
  if (number < pieces) {
    int32_t at[TW_MAX_RANK];
    const int32_t step = params->kept_stride[last];
    const float *const from = x + tw_walk_from(last, params->kept_size, params->kept_stride, row, at) + column * step;
    const int32_t many = own.end - own.first;
    if (count == 4) four_totals(params, from, own.first, many, total);
    for (int32_t i = 0; count < 4 && i < count; i++) total[i] = one_total(params, from + i * step, own.first, many);
  }
  tw_barrier();
  if (number >= pieces || part > 0) return;
  for (int32_t i = 0; i < count; i++) {
    float all = total[i];
    for (int32_t other = 1; other < parts; other++) all = join(all, total[4 * other + i]);
    y[row * columns + column + i] = finish(all, params);
  }
}

void TW_NAME(const tw_reduce_params *params, const float *x, float *y, void *scratch) {
  const int32_t last = params->kept_rank - 1, columns = params->kept_size[last], step = params->kept_stride[last];
  const int32_t wide = width_of(params), in_row = pieces_of_row(params, wide);
  const int32_t pieces = in_row * tw_walk_length(last, params->kept_size);
  if (pieces > 0 && 2 * pieces <= TW_CORES) {
    share_pieces(params, x, y, pieces, scratch);
    return;
  }
  const tw_share share = tw_share_of(pieces);
  const int32_t length = params->size[params->rank - 1];
  if (share.first >= share.end) return;
  int32_t at[TW_MAX_RANK], row = share.first / in_row, column = wide * (share.first - row * in_row);
  int32_t offset = tw_walk_from(last, params->kept_size, params->kept_stride, row, at);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t end = column + wide <= columns ? column + wide : columns;
    float *const to = y + row * columns;
    if (end - column == 4) {
      float t[4];
      four_totals(params, x + offset + column, 0, length, t);
      to[column] = finish(t[0], params), to[column + 1] = finish(t[1], params);
      to[column + 2] = finish(t[2], params), to[column + 3] = finish(t[3], params);
    } else {
      for (int32_t c = column; c < end; c++) to[c] = finish(one_total(params, x + offset + c * step, 0, length), params);
    }
    column = end;
    if (column < columns) continue;
    column = 0;
    row++;
    tw_walk(last, params->kept_size, params->kept_stride, at, &offset);
  }
}

#endif
