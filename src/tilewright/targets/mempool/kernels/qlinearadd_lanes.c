/* y = out(a * mul_a + b * mul_b), a requantisation of 32 bits; broadcast; all cores together */
#include "qlinearadd_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_lanes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_pairs.h"
#include "narrowed_lanes.h"

static inline void add(const tw_qlinearadd_bytes_params *p, uint32_t a, uint32_t b, int even, int32_t *x) {
  int32_t other[4];
  TW_TAKE_LANES(TW_A, a, x);
  TW_TAKE_LANES(TW_B, b, other);
  TW_EACH_LANE(i) x[i] = tw_x_mac(p->out.add, x[i], p->mul_a);
  TW_EACH_LANE(i) x[i] = tw_x_mac(x[i], other[i], p->mul_b);
  tw_narrow_sums(&p->out, x, even);
}

TW_BYTE_PAIRS(tw_qlinearadd_bytes_params, add)
