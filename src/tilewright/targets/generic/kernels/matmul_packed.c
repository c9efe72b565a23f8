/* Product of bytes with a matrix of packed weights; int32 totals, optionally requantised. A column of weights is unpacked
 * once and then meets every row. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_packed
#define TW_A int8_t
#define TW_Y int8_t
#endif

#include "matmul_packed.h"

static uint32_t dot(const TW_A *a, const int16_t *weights, int32_t count) {
  uint32_t sum = 0;
  for (int32_t k = 0; k < count; k++) sum += (uint32_t)((int32_t)a[k] * weights[k]);
  return sum;
}

void TW_NAME(const tw_matmul_packed_params *params, const TW_A *a, const uint8_t *b, const int32_t *c,
             const int32_t *mul, const int32_t *add, TW_Y *y, void *scratch) {
  const tw_matmul_packed_params *const p = params;
  int16_t *const weights = scratch;
  for (int32_t column = 0; column < p->columns; column++, b += p->row_bytes) {
    tw_unpack_row(b, p->inner, p->bits, p->least, weights);
    const uint32_t bias = c ? (uint32_t)c[column * p->c_step] : 0;
    const int32_t factor = p->requantised ? mul[column * p->mul_step] : 0;
    const int32_t summand = add ? add[column * p->add_step] : 0;
    for (int32_t row = 0; row < p->rows; row++) {
      const int32_t total = (int32_t)(dot(a + row * p->inner, weights, p->inner) + bias);
      TW_Y *const to = y + row * p->columns + column;
      *to = p->requantised ? (TW_Y)tw_requantise(&p->requant, total, factor, summand) : (TW_Y)total;
    }
  }
}
