/* Division of 64 bits, which no Cortex-M has: bit by bit, from the highest that the quotient can have. */
#include <stdint.h>

uint64_t tw_divide(uint64_t value, uint64_t by, uint64_t *rest);
int64_t tw_divide_signed(int64_t value, int64_t by, int64_t *rest);

static int leading_zeros(uint64_t value) {
  const uint32_t high = (uint32_t)(value >> 32);
  return high ? __builtin_clz(high) : 32 + __builtin_clz((uint32_t)value);
}

uint64_t tw_divide(uint64_t value, uint64_t by, uint64_t *rest) {
  uint64_t quotient = 0;
  if (by != 0 && value >= by) {
    int shift = leading_zeros(by) - leading_zeros(value);
    by <<= shift;
    for (; shift >= 0; shift--, by >>= 1) {
      quotient <<= 1;
      if (value >= by) value -= by, quotient |= 1;
    }
  }
  *rest = value;
  return quotient;
}

static uint64_t magnitude(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

static int64_t with_sign(uint64_t value, int is_negative) { return (int64_t)(is_negative ? 0 - value : value); }

int64_t tw_divide_signed(int64_t value, int64_t by, int64_t *rest) {
  uint64_t left;
  const uint64_t quotient = tw_divide(magnitude(value), magnitude(by), &left);
  *rest = with_sign(left, value < 0);
  return with_sign(quotient, (value < 0) != (by < 0));
}
