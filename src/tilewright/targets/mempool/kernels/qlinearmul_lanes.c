/* y = out((a - a_zero) * (b - b_zero)), a requantisation of 32 bits; broadcast; all cores together */
#include "qlinearmul_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearmul_lanes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_pairs.h"
#include "narrowed_lanes.h"

static inline void multiply(const tw_qlinearmul_bytes_params *p, uint32_t a, uint32_t b, int even, int32_t *x) {
  int32_t other[4];
  TW_TAKE_LANES(TW_A, a, x);
  TW_TAKE_LANES(TW_B, b, other);
  TW_EACH_LANE(i) x[i] = (x[i] - p->a_zero) * (other[i] - p->b_zero);
  tw_narrow_lanes(&p->out, x, even);
}

TW_BYTE_PAIRS(tw_qlinearmul_bytes_params, multiply)
