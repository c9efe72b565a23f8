/* Weighted sums of two tensors of bytes, element by element. y may lie in the place of an operand. */
#include "qlinearadd_bytes.h"

#include "sums_neon.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_bytes
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#define TW_IS_UNSIGNED(type) ((type)-1 > (type)0)

static TW_Y add_one(const tw_qlinearadd_bytes_params *p, TW_A a, TW_B b) {
  const int32_t sum = a * (p->high_a * 256 + p->low_a) + b * (p->high_b * 256 + p->low_b) + p->offset;
  const int32_t value = ((sum + (1 << (p->requant.shift - 1))) >> p->requant.shift) + p->requant.zero_point;
  return (TW_Y)tw_clamp(value, p->requant.low, p->requant.high);
}

void TW_NAME(const tw_qlinearadd_bytes_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_weights weights = tw_weights_of(params);
  int32_t i = 0;
  for (; i + 16 <= params->count; i += 16) {
    tw_weighted_sixteen(&weights, TW_IS_UNSIGNED(TW_A), a + i, TW_IS_UNSIGNED(TW_B), b + i, TW_IS_UNSIGNED(TW_Y), y + i);
  }
  for (; i < params->count; i++) y[i] = add_one(params, a[i], b[i]);
}
