/* The loops of all reductions. A kernel includes this after it has said what it does with an element:
 *   acc_t                  the type in which it accumulates
 *   acc_t start(void)      of no elements
 *   acc_t step(acc_t, x)   with one more element
 *   acc_t join(acc_t, acc_t)
 *   TW_Y finish(acc_t, params) */
#ifndef TW_REDUCE_LOOPS_H
#define TW_REDUCE_LOOPS_H

#include "reduce.h"

#ifdef TW_REDUCTION
TW_REDUCTION /* somebody else has the loop over y */
#else

/* Independent chains: compilers vectorise them, and float sums get more exact. */
enum { LANES = 32, COLUMNS = 64 };

static acc_t reduce_run(acc_t total, const TW_X *x, int32_t length, int32_t stride) {
  acc_t lane[LANES];
  int32_t i = 0;
  if (stride == 1 && length >= LANES) {
    for (int32_t l = 0; l < LANES; l++) lane[l] = start();
    for (; i + LANES <= length; i += LANES) {
      for (int32_t l = 0; l < LANES; l++) lane[l] = step(lane[l], x[i + l]);
    }
    for (int32_t l = 0; l < LANES; l++) total = join(total, lane[l]);
  }
  for (; i < length; i++) total = step(total, x[i * stride]);
  return total;
}

/* One element of y. */
static TW_Y reduce_one(const tw_reduce_params *params, const TW_X *x) {
  const int32_t last = params->rank - 1, runs = tw_walk_length(last, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  acc_t total = start();
  for (int32_t run = 0; run < runs; run++) {
    total = reduce_run(total, x + offset, params->size[last], params->stride[last]);
    tw_walk(last, params->size, params->stride, at, &offset);
  }
  return finish(total, params);
}

/* Neighbours in y that are neighbours in x as well, at most COLUMNS of them. */
static void reduce_columns(const tw_reduce_params *params, const TW_X *x, int32_t columns, TW_Y *y) {
  const int32_t positions = tw_walk_length(params->rank, params->size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  acc_t total[COLUMNS];
  for (int32_t i = 0; i < columns; i++) total[i] = start();
  for (int32_t position = 0; position < positions; position++) {
    for (int32_t i = 0; i < columns; i++) total[i] = step(total[i], x[offset + i]);
    tw_walk(params->rank, params->size, params->stride, at, &offset);
  }
  for (int32_t i = 0; i < columns; i++) y[i] = finish(total[i], params);
}

void TW_NAME(const tw_reduce_params *params, const TW_X *x, TW_Y *y) {
  const int32_t last = params->kept_rank - 1, length = params->kept_size[last], stride = params->kept_stride[last];
  const int32_t rows = tw_walk_length(last, params->kept_size);
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  for (int32_t row = 0; row < rows; row++) {
    if (stride == 1) {
      for (int32_t i = 0; i < length; i += COLUMNS) {
        reduce_columns(params, x + offset + i, tw_min(COLUMNS, length - i), y + i);
      }
    } else {
      for (int32_t i = 0; i < length; i++) y[i] = reduce_one(params, x + offset + i * stride);
    }
    y += length;
    tw_walk(last, params->kept_size, params->kept_stride, at, &offset);
  }
}

#endif

#endif
