/* Rows times panels of weights in BF16. */
#ifndef TW_NAME
#define TW_NAME tw_block_bf16
#endif

#define TW_LOAD_WEIGHTS tw_load_upper
#define TW_WEIGHTS_PART tw_upper_part

#include "block_floats.h"
