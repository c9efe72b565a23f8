/* Sums of products by N-EUREKA, with weights in the weight memory. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_resident
#define TW_X int8_t
#define TW_SCALE uint8_t
#define TW_Y int8_t
#endif

#include "neureka_call.h"
