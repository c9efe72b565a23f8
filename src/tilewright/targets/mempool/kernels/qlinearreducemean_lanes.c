/* y = requant(sum(x - x_zero) * mul / count) over axes before the last one, four columns at a time; all cores together */
#include "qlinearreducemean.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_lanes_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "column_totals.h"
#include "qlinear_mean.h"

static inline void finish(const four_t *sums, const tw_qlinearreducemean_params *p, TW_Y *y) {
  const int32_t count = p->loops.count;
  for (int i = 0; i < 4; i++) y[i] = (TW_Y)tw_mean(&p->requant, sums->total[i] - count * p->x_zero, count, p->mul);
}

#include "four_columns.h"

void TW_NAME(const tw_qlinearreducemean_params *params, const TW_X *x, TW_Y *y) {
  TW_FOUR_COLUMNS(params, &params->loops, x, y);
}
