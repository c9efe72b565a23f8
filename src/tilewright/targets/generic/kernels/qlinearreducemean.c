/* y = requant(sum(x - x_zero) * mul) over some axes; mul contains the division by their length */
#include "qlinearreducemean.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

/* The odometer over the outer `rank` loops of a walk: moves the offset on, returns 0 after the last step. */
static int next(const tw_walk *walk, int32_t rank, int32_t *at, int32_t *offset) {
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    *offset += walk->stride[axis];
    if (++at[axis] < walk->size[axis]) return 1;
    *offset -= walk->stride[axis] * walk->size[axis];
    at[axis] = 0;
  }
  return 0;
}

static int32_t sum(const tw_walk *walk, const TW_X *x, int32_t x_zero) {
  const int32_t last = walk->rank - 1, n = walk->size[last], step = walk->stride[last];
  int32_t at[TW_MAX_RANK] = {0}, offset = 0, total = 0;
  do {
    const TW_X *row = x + offset;
    for (int32_t i = 0; i < n; i++) total += row[i * step] - x_zero;
  } while (next(walk, last, at, &offset));
  return total;
}

void TW_NAME(const tw_qlinearreducemean_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearreducemean_params p = *params;
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  for (int32_t i = 0; i < p.results; i++) {
    y[i] = (TW_Y)tw_requantise(&p.requant, sum(&p.summed, x + offset, p.x_zero), p.mul, 0);
    next(&p.kept, p.kept.rank, at, &offset);
  }
}
