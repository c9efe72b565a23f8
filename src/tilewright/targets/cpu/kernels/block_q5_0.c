/* Rows times panels of weights in blocks of Q5_0. */
#ifndef TW_NAME
#define TW_NAME tw_block_q5_0
#endif

#define TW_BITS 5
#define TW_SCALING TW_PLAIN
#define TW_ZERO 16

#include "block_panels.h"
