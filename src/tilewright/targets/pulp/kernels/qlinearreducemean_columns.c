/* The mean of each column of bytes, requantised; all cores together. */
#include "qlinearreducemean_columns.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_columns_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "column_sums.h"
#include "qlinear_mean32.h"

#define TW_PARAMS tw_qlinearreducemean_columns_params
#define TW_LOOPS(params) (&(params)->exact.loops)

/* The upper word is too large by at most a quarter, or too small by at most one and a quarter. */
static inline int32_t mean(int32_t total, const tw_qlinearreducemean_columns_params *p) {
  const tw_upper_mean *const quick = &p->quick;
  const tw_requant *const r = &p->exact.requant;
  const int32_t count = p->exact.loops.count, centred = total - count * p->exact.x_zero;
  const int32_t upper = (int32_t)((int64_t)(int32_t)((uint32_t)centred << quick->up) * quick->mul >> 32);
  const int32_t one = 1 << quick->shift, value = upper + (one >> 1);
  if (((value + 1) & (one - 1)) < 2) return tw_mean32(r, centred, count, p->exact.mul);
  return tw_clamp((value >> quick->shift) + r->zero_point, r->low, r->high);
}

static inline uint32_t four_results(state total, const tw_qlinearreducemean_columns_params *params) {
  return tw_x_pack4(mean(total.sum[0], params), mean(total.sum[1], params), mean(total.sum[2], params),
                    mean(total.sum[3], params));
}

#include "reduce_columns.h"
