/* 1 / (1 + e^x) of a block of 16 floats, x between -80 and 80: what Sigmoid, Swish and GELU by tanh have in common. */
#ifndef TW_LOGISTIC_BLOCKS_H
#define TW_LOGISTIC_BLOCKS_H

#include "function_blocks.h"

/* ft6 is left to the function. */
static inline void tw_logistic_constants(void) {
  TW_SET("ft3", TW_ONE_BITS);
  TW_SET("ft4", 0xc2a00000); /* -80 */
  TW_SET("ft5", 0x42a00000); /* 80 */
  TW_SET_TWICE("ft7", 0x40000000); /* 2 */
}

/* f8 to f15 become f16 to f23. */
static inline void tw_logistic(tw_room *room) {
  tw_power(room);
  TW_EIGHTS(TW_WITH(TW_VFADD_R, "f8", "f8", "f3"));
  tw_reciprocals(room);
}

#endif
