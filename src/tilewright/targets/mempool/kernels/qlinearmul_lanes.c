/* y = out((a - a_zero) * (b - b_zero)), a requantisation of 32 bits; broadcast; all cores together */
#include "qlinearmul_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearmul_lanes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_pairs.h"

static inline int32_t multiply(const tw_qlinearmul_bytes_params *p, int32_t a, int32_t b, int even) {
  return tw_narrowed(&p->out, (a - p->a_zero) * (b - p->b_zero), even);
}

TW_BYTE_PAIRS(tw_qlinearmul_bytes_params, multiply)
