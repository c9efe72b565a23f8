/* From totals in int32 to a row of TW_Y. Needs TW_Y. */
#ifndef TW_CONV_STORE_H
#define TW_CONV_STORE_H

#include "conv.h"

static inline void tw_conv_store(const tw_conv_params *params, const int32_t *mul, const int32_t *add, int32_t filter,
                                 const uint32_t *total, TW_Y *restrict y, int32_t count) {
  if (!params->requantised) {
    for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)(int32_t)total[i];
    return;
  }
  const tw_requant requant = params->requant;
  const int32_t factor = mul[filter * params->mul_step];
  const int32_t summand = add ? add[filter * params->add_step] : 0;
  for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)tw_requantise(&requant, (int32_t)total[i], factor, summand);
}

#endif
