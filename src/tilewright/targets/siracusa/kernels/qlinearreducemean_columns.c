/* The mean of each column of bytes, requantised; all cores together. */
#include "qlinearreducemean.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_columns_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "column_sums.h"
#include "qlinear_mean32.h"

#define TW_PARAMS tw_qlinearreducemean_params
#define TW_LOOPS(params) (&(params)->loops)

static inline int32_t mean(int32_t total, const tw_qlinearreducemean_params *p) {
  return tw_mean32(&p->requant, total - p->loops.count * p->x_zero, p->loops.count, p->mul);
}

static inline uint32_t four_results(state total, const tw_qlinearreducemean_params *params) {
  return tw_x_pack4(mean(total.sum[0], params), mean(total.sum[1], params), mean(total.sum[2], params),
                    mean(total.sum[3], params));
}

#include "reduce_columns.h"
