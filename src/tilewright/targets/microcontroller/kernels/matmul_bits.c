/* Rows of bytes times a constant matrix whose columns are in blocks of four, of weights of two bits, bit by bit. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_bits
#define TW_A int8_t
#define TW_Y int8_t
#endif

#define TW_X TW_A

#include "bit_products.h"
#include "dotted_matmul.h"
