/* y = clamp(round((a * mul_a + b * mul_b + offset) / 2^shift) + zero_point), broadcast */
#include "qlinearadd.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#define TW_Y_IS_FLOAT 0
#endif

#include "qlinear_binary.h"

/* Whoever chose the multipliers made sure that the sum of two bytes fits 32 bits, so that processors without wide
 * registers, and vectors, are fast. */
static inline TW_Y add_narrow(const tw_qlinearadd_params *p, TW_A a, TW_B b) {
  const int32_t shift = p->requant.shift;
  int32_t sum = (int32_t)a * p->mul_a + (int32_t)b * p->mul_b + (int32_t)p->offset;
  if (shift > 0) {
    const int32_t half = (int32_t)1 << (shift - 1);
    sum = (sum + (p->requant.rounding == TW_HALF_EVEN ? half - 1 + ((sum >> shift) & 1) : half)) >> shift;
  }
  return (TW_Y)tw_clamp(sum + p->requant.zero_point, p->requant.low, p->requant.high);
}

static inline TW_Y add_wide(const tw_qlinearadd_params *p, TW_A a, TW_B b) {
  return (TW_Y)tw_narrow(&p->requant, (int64_t)a * p->mul_a + (int64_t)b * p->mul_b + p->offset);
}

static inline TW_Y add(const tw_qlinearadd_params *p, TW_A a, TW_B b) {
  return sizeof(TW_A) == 1 && sizeof(TW_B) == 1 ? add_narrow(p, a, b) : add_wide(p, a, b);
}

TW_QLINEAR_BINARY(tw_qlinearadd_params, add)
