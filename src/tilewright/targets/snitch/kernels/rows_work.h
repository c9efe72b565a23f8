/* Units of work of functions, rows, sums and pairs of floats: those of one core. */
#ifndef TW_ROWS_WORK_H
#define TW_ROWS_WORK_H

#include "binary.h"
#include "reduce.h"
#include "row_norm.h"
#include "rows_sizes.h"
#include "tile_loops.h"
#include "unary.h"
#include "units_of_work.h"

/* The call, and blocks. */
static inline int64_t tw_function_work(const tw_unary_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  (void)p;
  TW_UNITS(1, tw_up(tw_up(tile->rest, TW_BLOCK), cores));
}

/* The call; rows and their units of some elements. */
static inline int64_t tw_rows_work(int64_t points, int64_t length, int64_t unit, int32_t cores, double *units) {
  const int64_t own = tw_up(tw_up(points, tw_most(length, 1)), cores);
  TW_UNITS(1, own, own * tw_up(length, unit));
}

static inline int64_t tw_softmax_blocks_work(const tw_softmax_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  return tw_rows_work(tile->rest, p->length, TW_BLOCK, cores, units);
}

static inline int64_t tw_norm_streams_work(const tw_row_norm_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  return tw_rows_work(tile->rest, p->length, 8, cores, units);
}

/* The call, and pairs of elements. */
static inline int64_t tw_binary_streams_work(const tw_binary_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  (void)p;
  TW_UNITS(1, (double)tile->rest / (2 * cores));
}

/* The call; groups of neighbouring results, and pairs that these are made of; results alone, and their pairs. */
static inline int64_t tw_reduce_streams_work(const tw_reduce_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  int64_t reduced = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) reduced *= p->size[axis];
  const int64_t results = tile->rest / tw_most(reduced, 1);
  if (p->kept_rank == 0 || p->kept_stride[p->kept_rank - 1] != 1) {
    const int64_t own = tw_up(results, cores);
    TW_UNITS(1, 0, 0, own, (double)(own * reduced) / 2);
  }
  const int64_t wide = tw_least(16, p->kept_size[p->kept_rank - 1]), own = tw_up(tw_up(results, wide), cores);
  TW_UNITS(1, own, own * reduced * (wide > 8 ? wide / 2.0 : 4.0), 0, 0);
}

#endif
