/* y = out(a * mul_a + b * mul_b), a requantisation; broadcast; all cores together */
#include "qlinearadd_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_bytes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_binary.h"

static inline int32_t add(const tw_qlinearadd_bytes_params *p, int32_t a, int32_t b, int even) {
  return tw_narrowed_sum(&p->out, tw_x_mac(tw_x_mac(p->out.add, a, p->mul_a), b, p->mul_b), even);
}

TW_BYTE_BINARY(tw_qlinearadd_bytes_params, add)
