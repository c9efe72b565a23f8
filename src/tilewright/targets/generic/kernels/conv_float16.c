/* Convolution of floats with weights that are stored as float16. */
#ifndef TW_NAME
#define TW_NAME tw_conv_float16
#endif

#include "half.h"

#define TW_WEIGHT uint16_t
#define TW_FROM_WEIGHT(x) tw_weight_of_float16(x)

#include "conv_floats.h"
