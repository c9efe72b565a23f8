/* Convolution of floats. */
#ifndef TW_NAME
#define TW_NAME tw_conv_f32
#endif

#include "conv_floats.h"
