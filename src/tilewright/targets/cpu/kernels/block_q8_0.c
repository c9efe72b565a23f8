/* Rows times panels of weights in blocks of Q8_0. */
#ifndef TW_NAME
#define TW_NAME tw_block_q8_0
#endif

#define TW_BITS 8
#define TW_SCALING TW_PLAIN
#define TW_ZERO 128

#include "block_panels.h"
