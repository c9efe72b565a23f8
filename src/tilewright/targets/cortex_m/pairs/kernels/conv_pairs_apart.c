/* The same as conv_pairs.c, with filters whose bytes are extended apart. */
#ifndef TW_NAME
#define TW_NAME tw_conv_pairs_apart
#define TW_X int8_t
#define TW_Y int8_t
#endif

#define TW_APART

#include "conv_pairs.c"
