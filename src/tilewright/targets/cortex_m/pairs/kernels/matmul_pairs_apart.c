/* The same as matmul_pairs.c, with filters whose bytes are extended apart. */
#ifndef TW_NAME
#define TW_NAME tw_matmul_pairs_apart
#define TW_A int8_t
#define TW_Y int8_t
#endif

#define TW_APART

#include "matmul_pairs.c"
