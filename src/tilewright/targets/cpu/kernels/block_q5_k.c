/* Rows times panels of weights in blocks of Q5_K. */
#ifndef TW_NAME
#define TW_NAME tw_block_q5_k
#endif

#define TW_BITS 5
#define TW_SCALING TW_SUPER
#define TW_ZERO 0

#include "block_panels.h"
