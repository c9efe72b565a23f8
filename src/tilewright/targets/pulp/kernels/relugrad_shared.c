/* y = a where b is above 0, otherwise 0, broadcast; all cores together. As integers, floats above 0 are 1 up to infinity,
 * with what is no number behind it, and none of the units that two cores share is asked. */
#include "shared_binary.h"

enum { INFINITY_BITS = 0x7f800000 };

typedef union {
  float value;
  int32_t bits;
} tw_float_bits;

static inline float tw_where_positive(float a, float b) {
  tw_float_bits kept, of;
  kept.value = a, of.value = b;
  kept.bits &= -(int32_t)((uint32_t)of.bits - 1u < INFINITY_BITS);
  return kept.value;
}

TW_SHARED_BINARY(tw_where_positive(a, b))
