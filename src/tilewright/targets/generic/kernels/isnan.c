/* y = whether x is not a number, by its bits: clang's vectors of the Cortex-M55 take x != x for false. */
#include "float_bits.h"
#include "unary_kernel.h"

static inline int tw_is_nan(float x) {
  const tw_float_bits number = {.value = x};
  return (number.bits & 0x7fffffffu) > 0x7f800000u;
}

TW_UNARY(tw_is_nan(x))
