/* Rows times panels of weights in blocks of Q6_K. */
#ifndef TW_NAME
#define TW_NAME tw_block_q6_k
#endif

#define TW_BITS 6
#define TW_SCALING TW_SUPER_APART
#define TW_ZERO 32

#include "block_panels.h"
