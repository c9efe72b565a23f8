/* Convolution of bytes, channels second, with weights of two bits, bit by bit. */
#ifndef TW_NAME
#define TW_NAME tw_conv_bits
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "bit_products.h"
#include "dotted_conv.h"
