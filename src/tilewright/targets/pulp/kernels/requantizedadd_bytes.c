/* y = out(first(a) + second(b)), each of the three a requantisation; broadcast; all cores together */
#include "requantizedadd_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_bytes_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_binary.h"

static inline int32_t add(const tw_requantizedadd_bytes_params *p, int32_t a, int32_t b, int even) {
  return tw_narrowed(&p->out, tw_narrowed(&p->first, a, even) + tw_narrowed(&p->second, b, even), even);
}

TW_BYTE_BINARY(tw_requantizedadd_bytes_params, add)
