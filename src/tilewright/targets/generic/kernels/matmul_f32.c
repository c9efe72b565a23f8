/* Matrix product of floats. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_f32
#endif

#include "matmul_floats.h"
