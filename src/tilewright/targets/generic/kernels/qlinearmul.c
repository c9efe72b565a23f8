/* y = requant((a - a_zero) * (b - b_zero) * mul + add), broadcast */
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
  const int32_t left = (int32_t)a - p->a_zero, right = (int32_t)b - p->b_zero;
  /* The product of two bytes fits 32 bits. */
  const int64_t product = sizeof(TW_A) == 1 && sizeof(TW_B) == 1 ? left * right : (int64_t)left * right;
  if (TW_IS_TFLITE(&p->requant)) {
    return (TW_Y)tw_requantise_scaled(&p->requant, (int32_t)product, p->mul, p->add);
  }
  return (TW_Y)tw_narrow(&p->requant, product * p->mul + p->add);
}

TW_QLINEAR_BINARY(tw_qlinearmul_params, multiply)
