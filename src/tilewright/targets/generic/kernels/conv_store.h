/* From totals in int32 to a row of TW_Y. Needs TW_Y. */
#ifndef TW_CONV_STORE_H
#define TW_CONV_STORE_H

#include "conv.h"

/* TW_DOUBLE and TW_DOUBLE_UP of many totals: as tw_requantise_scaled, with all that is the same for each done before, and
 * in 32 bits after the product: it is above -2^31, so that one less fits. For results of 16 bits at the most. */
static inline void tw_conv_store_double(const tw_requant *r, int32_t mul, int32_t exponent, const uint32_t *total,
                                        TW_Y *restrict y, int32_t count) {
  const int32_t left = exponent > 0 ? exponent : 0, right = exponent < 0 ? -exponent : 0;
  const int32_t away = right > 0 && r->rounding == TW_DOUBLE, most = right > 0 ? right - 1 : 0, last = right > 0;
  const int32_t zero_point = r->zero_point, low = r->low - zero_point, high = r->high - zero_point;
  for (int32_t i = 0; i < count; i++) {
    const int32_t product = tw_high_product((int32_t)(total[i] << left), mul);
    const int32_t value = (((product - (away & (product < 0))) >> most) + last) >> last;
    y[i] = (TW_Y)((value < low ? low : value > high ? high : value) + zero_point);
  }
}

static inline void tw_conv_store(const tw_conv_params *params, const int32_t *mul, const int32_t *add, int32_t filter,
                                 const uint32_t *total, TW_Y *restrict y, int32_t count) {
  if (!params->requantised) {
    for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)(int32_t)total[i];
    return;
  }
  const tw_requant requant = params->requant;
  const int32_t factor = mul[filter * params->mul_step];
  const int32_t summand = add ? add[filter * params->add_step] : 0;
  if (sizeof(TW_Y) < 4 && (requant.rounding == TW_DOUBLE || requant.rounding == TW_DOUBLE_UP)) {
    tw_conv_store_double(&requant, factor, summand, total, y, count);
    return;
  }
  for (int32_t i = 0; i < count; i++) y[i] = (TW_Y)tw_requantise(&requant, (int32_t)total[i], factor, summand);
}

#endif
