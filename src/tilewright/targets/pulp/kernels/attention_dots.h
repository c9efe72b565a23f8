#ifndef TW_ATTENTION_DOTS_H
#define TW_ATTENTION_DOTS_H

#include "qlinearattention.h"

/* A requantisation of which only the upper half of the product matters: ((x * mul >> 32) + half) >> shift, and so on. */
typedef struct {
  int32_t mul;
  int32_t half;
  int32_t shift;
  int32_t zero;
  int32_t low;
  int32_t high;
} tw_upper_half;

typedef struct {
  tw_qlinearattention_params exact;
  int32_t together; /* rows that a core takes at a time */
  int32_t own_bytes; /* of scratch memory that each core has */
  int32_t turns;     /* whether values are stored anew behind that, for many queries */
  int32_t is_upper; /* whether scores and results are such: else they are requantised in 64 bits */
  tw_upper_half score;
  tw_upper_half mix;
} tw_attention_dots_params;

#endif
