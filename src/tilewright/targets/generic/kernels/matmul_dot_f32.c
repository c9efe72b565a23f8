/* Matrix product of floats, b stored column by column: each result is the product of two contiguous rows. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_dot_f32
#endif

#include "matmul_dot_floats.h"
