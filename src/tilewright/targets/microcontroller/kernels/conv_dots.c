/* Convolution of bytes, channels second, by dot products of four bytes. */
#ifndef TW_NAME
#define TW_NAME tw_conv_dots
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "dot_products.h"
#include "dotted_conv.h"
