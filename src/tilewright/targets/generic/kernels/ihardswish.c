/* y = x * (clamp(x + three, 0, six) * one_over_six) */
#include "ihardswish.h"

#include "int32.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_ihardswish_i8
#define TW_X int8_t
#endif

void TW_NAME(const tw_ihardswish_params *params, const TW_X *x, int32_t *y) {
  const int32_t count = params->count, three = params->three, six = params->six, one_over_six = params->one_over_six;
  TW_INDEPENDENT
  for (int32_t i = 0; i < count; i++) {
    const int32_t value = x[i], gate = tw_clamp(tw_add32(value, three), 0, six);
    y[i] = tw_mul32(value, tw_mul32(gate, one_over_six));
  }
}
