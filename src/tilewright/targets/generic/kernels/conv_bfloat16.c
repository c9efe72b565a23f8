/* Convolution of floats with weights that are stored as bfloat16. */
#ifndef TW_NAME
#define TW_NAME tw_conv_bfloat16
#endif

#include "half.h"

#define TW_WEIGHT uint16_t
#define TW_FROM_WEIGHT(x) tw_weight_of_bfloat16(x)

#include "conv_floats.h"
