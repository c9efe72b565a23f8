/* y = out(first(a) + second(b)), each of the three a requantisation of 32 bits; broadcast; all cores together */
#include "requantizedadd_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_lanes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_pairs.h"
#include "narrowed_lanes.h"

static inline void add(const tw_requantizedadd_bytes_params *p, uint32_t a, uint32_t b, int even, int32_t *x) {
  int32_t other[4];
  TW_TAKE_LANES(TW_A, a, x);
  tw_narrow_lanes(&p->first, x, even);
  TW_TAKE_LANES(TW_B, b, other);
  tw_narrow_lanes(&p->second, other, even);
  TW_EACH_LANE(i) x[i] += other[i];
  tw_narrow_lanes(&p->out, x, even);
}

TW_BYTE_PAIRS(tw_requantizedadd_bytes_params, add)
