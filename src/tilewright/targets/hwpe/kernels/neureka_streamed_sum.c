/* Sums of two tensors by N-EUREKA, with its factors in L1. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_streamed_sum
#define TW_A int8_t
#define TW_B int8_t
#define TW_SCALE uint8_t
#define TW_Y int8_t
#endif

#include "neureka_sum_call.h"
