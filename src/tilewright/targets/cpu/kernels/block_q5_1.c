/* Rows times panels of weights in blocks of Q5_1. */
#ifndef TW_NAME
#define TW_NAME tw_block_q5_1
#endif

#define TW_BITS 5
#define TW_SCALING TW_MOVED
#define TW_ZERO 0

#include "block_panels.h"
