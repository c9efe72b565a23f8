/* From totals in int32 to some columns of a row of TW_Y. Needs TW_Y. */
#ifndef TW_MATMUL_STORE_H
#define TW_MATMUL_STORE_H

#include "matmul.h"

/* Columns that are stored at a time. */
#define TW_COLUMNS_STORED 32

/* The values of some columns: neighbours, one for all, or zero where there are none. */
static inline void tw_spread(const int32_t *from, int32_t step, int32_t count, int32_t *restrict to) {
  if (!from) {
    for (int32_t i = 0; i < count; i++) to[i] = 0;
  } else if (step == 1) {
    for (int32_t i = 0; i < count; i++) to[i] = from[i];
  } else {
    for (int32_t i = 0; i < count; i++) to[i] = from[0];
  }
}

/* At most TW_COLUMNS_STORED columns from `column` on. */
static inline void tw_matmul_store(const tw_matmul_params *params, const int32_t *c, const int32_t *mul,
                                   const int32_t *add, int32_t row, int32_t column, const uint32_t *total,
                                   TW_Y *restrict y, int32_t count) {
  int32_t bias[TW_COLUMNS_STORED], factor[TW_COLUMNS_STORED], summand[TW_COLUMNS_STORED];
  tw_spread(c ? c + row * params->c_row + column * params->c_column : 0, params->c_column, count, bias);
  if (!params->requantised) {
    for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)(int32_t)(total[i] + (uint32_t)bias[i]);
    return;
  }
  const tw_requant requant = params->requant;
  tw_spread(mul + row * params->mul_row + column * params->mul_column, params->mul_column, count, factor);
  tw_spread(add ? add + row * params->add_row + column * params->add_column : 0, params->add_column, count, summand);
  for (int32_t i = 0; i < count; i++) {
    y[i] = (TW_Y)tw_requantise(&requant, (int32_t)(total[i] + (uint32_t)bias[i]), factor[i], summand[i]);
  }
}

#endif
