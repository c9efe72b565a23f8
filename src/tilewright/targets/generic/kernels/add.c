/* y = a + b, broadcast */
#include "binary.h"

#ifndef TW_NAME
#define TW_NAME tw_add_f32
#define TW_A float
#define TW_B float
#define TW_Y float
#endif

TW_BINARY_KERNEL(TW_NAME, TW_A, TW_B, TW_Y, (TW_Y)a + (TW_Y)b)
