/* Sums of products by N-EUREKA, with weights in L1, requantised twice; the cores take what is equal. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_streamed_bracketed
#define TW_FINISH tw_neureka_streamed_bracketed_finish
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "neureka_bracketed_call.h"
