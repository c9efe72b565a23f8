/* From totals in int32 to some columns of a row of TW_Y. Needs TW_Y. */
#ifndef TW_MATMUL_STORE_H
#define TW_MATMUL_STORE_H

#include "matmul.h"

static inline void tw_matmul_store(const tw_matmul_params *params, const int32_t *c, const int32_t *mul,
                                   const int32_t *add, int32_t row, int32_t column, uint32_t *total, TW_Y *restrict y,
                                   int32_t count) {
  const int32_t c_step = params->c_column, mul_step = params->mul_column, add_step = params->add_column;
  if (c) {
    const int32_t *bias = c + row * params->c_row + column * c_step;
    for (int32_t i = 0; i < count; i++) total[i] += (uint32_t)bias[i * c_step];
  }
  if (!params->requantised) {
    for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)(int32_t)total[i];
    return;
  }
  const tw_requant requant = params->requant;
  const int32_t *factor = mul + row * params->mul_row + column * mul_step;
  const int32_t *summand = add ? add + row * params->add_row + column * add_step : 0;
  for (int32_t i = 0; i < count; i++) {
    const int32_t more = summand ? summand[i * add_step] : 0;
    y[i] = (TW_Y)tw_requantise(&requant, (int32_t)total[i], factor[i * mul_step], more);
  }
}

#endif
