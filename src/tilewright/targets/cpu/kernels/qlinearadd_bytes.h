#ifndef TW_QLINEARADD_BYTES_H
#define TW_QLINEARADD_BYTES_H

#include "requant.h"

/* y = clamp(((a * mul_a + b * mul_b + offset + half) >> shift) + zero_point), element by element, where 16 bits hold what
 * is limited. A multiplier is high * 2^8 + low, both of 16 bits. */
typedef struct {
  int32_t count;
  int32_t high_a, low_a, high_b, low_b;
  int32_t offset;
  tw_requant requant;
} tw_qlinearadd_bytes_params;

#endif
