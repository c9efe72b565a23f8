/* The mean of each column of bytes; all cores together. */
#include "reduce.h"

#ifndef TW_NAME
#define TW_NAME tw_reducemean_columns_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "column_sums.h"

#define TW_PARAMS tw_reduce_params
#define TW_LOOPS(params) (params)

enum { TOWARD_ZERO, SHIFT, HALF_AWAY };

static inline int32_t mean(int32_t total, const tw_reduce_params *params) {
  const int32_t half = params->count >> 1;
  if (params->rounding == SHIFT) return (total + half) >> params->shift;
  if (params->rounding == HALF_AWAY) total = total > 0 ? total + half : total - half;
  return total / params->count;
}

static inline uint32_t four_results(state total, const tw_reduce_params *params) {
  return tw_x_pack4(mean(total.sum[0], params), mean(total.sum[1], params), mean(total.sum[2], params),
                    mean(total.sum[3], params));
}

#include "reduce_columns.h"
