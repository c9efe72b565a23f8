/* y = a where b is above 0, otherwise 0, broadcast; all cores together. As integers, floats above 0 are above 0, and none
 * of the units that two cores share is asked. What is not a number counts as above 0 if its sign is not set. */
#include "shared_binary.h"

typedef union {
  float value;
  int32_t bits;
} tw_float_bits;

static inline float tw_where_positive(float a, float b) {
  tw_float_bits kept, of;
  kept.value = a, of.value = b;
  kept.bits &= -(int32_t)(of.bits > 0);
  return kept.value;
}

TW_SHARED_BINARY(tw_where_positive(a, b))
