/* y = requant((a - a_zero) * (b - b_zero) * mul), broadcast */
#include "qlinearmul.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearmul_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "qlinear_binary.h"

static inline TW_Y multiply(const tw_qlinearmul_params *p, TW_A a, TW_B b) {
  return (TW_Y)tw_requantise(&p->requant, ((int32_t)a - p->a_zero) * ((int32_t)b - p->b_zero), p->mul, 0);
}

TW_QLINEAR_BINARY(tw_qlinearmul_params, multiply)
