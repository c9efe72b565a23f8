/* Rows times panels of weights in blocks of Q4_0. */
#ifndef TW_NAME
#define TW_NAME tw_block_q4_0
#endif

#define TW_BITS 4
#define TW_SCALING TW_PLAIN
#define TW_ZERO 8

#include "block_panels.h"
