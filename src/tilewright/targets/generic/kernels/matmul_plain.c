/* Matrix product of any numbers, a and b stored either way; integers wrap around and may be requantised. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_plain
#define TW_A int16_t
#define TW_B int16_t
#define TW_C int32_t
#define TW_Y int32_t
#define TW_A_IS_FLOAT 0
#endif

#include "matmul.h"

#if TW_A_IS_FLOAT
typedef float total_t;
#define TW_CENTRED(x, zero) (x)

static float activated(const tw_matmul_params *p, float value) {
  tw_activate(&p->activation, &value, 1, 1);
  return value;
}
#else
typedef uint64_t total_t; /* wrapped to the type of the result in the end */
#define TW_CENTRED(x, zero) ((uint64_t)(x) - (uint64_t)(zero))
#endif

static total_t dot(const tw_matmul_params *p, const TW_A *a, const TW_B *b) {
  total_t sum = 0;
  for (int32_t k = 0; k < p->inner; k++) {
    sum += TW_CENTRED(a[k * p->a_column], p->a_zero) * TW_CENTRED(b[k * p->b_row], p->b_zero);
  }
  return sum;
}

static TW_Y finish(const tw_matmul_params *p, total_t total, const TW_C *c, const int32_t *mul, const int32_t *add,
                   int32_t row, int32_t column) {
  if (c) {
    const TW_C bias = c[row * p->c_row + column * p->c_column];
#if TW_A_IS_FLOAT
    return activated(p, p->alpha * total + p->beta * bias);
#else
    total += (uint64_t)bias;
#endif
  }
#if TW_A_IS_FLOAT
  (void)mul, (void)add;
  return activated(p, p->alpha * total);
#else
  if (!p->requantised) return (TW_Y)total;
  const int32_t summand = add ? add[row * p->add_row + column * p->add_column] : 0;
  const int32_t factor = mul[row * p->mul_row + column * p->mul_column];
  return (TW_Y)tw_requantise(&p->requant, (int32_t)(uint32_t)total, factor, summand);
#endif
}

void TW_NAME(const tw_matmul_params *params, const TW_A *a, const TW_B *b, const TW_C *c, const int32_t *mul,
             const int32_t *add, TW_Y *y) {
  tw_batch at = {{0}, 0, 0, 0, 0};
  if (tw_batch_is_empty(params)) return;
  do {
    for (int32_t row = 0; row < params->rows; row++) {
      for (int32_t column = 0; column < params->columns; column++) {
        const total_t total = dot(params, a + at.a + row * params->a_row, b + at.b + column * params->b_column);
        TW_Y *to = y + at.y + row * params->y_row + column * params->y_column;
        *to = finish(params, total, c ? c + at.c : 0, mul, add, row, column);
      }
    }
  } while (tw_batch_next(params, &at));
}
