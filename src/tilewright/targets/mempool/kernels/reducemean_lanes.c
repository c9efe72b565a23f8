/* y = the mean of bytes over axes before the last one, four columns at a time; all cores together */
#include "reduce.h"

#ifndef TW_NAME
#define TW_NAME tw_reducemean_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "column_totals.h"

enum { TOWARD_ZERO, SHIFT, HALF_AWAY };

static inline TW_Y mean(int32_t total, const tw_reduce_params *params) {
  const int32_t half = params->count >> 1;
  if (params->rounding == SHIFT) return (TW_Y)((total + half) >> params->shift);
  if (params->rounding == HALF_AWAY) total = total > 0 ? total + half : total - half;
  return (TW_Y)(total / params->count);
}

static inline void finish(const four_t *sums, const tw_reduce_params *params, TW_Y *y) {
  for (int i = 0; i < 4; i++) y[i] = mean(sums->total[i], params);
}

#include "four_columns.h"

void TW_NAME(const tw_reduce_params *params, const TW_X *x, TW_Y *y) { TW_FOUR_COLUMNS(params, params, x, y); }
