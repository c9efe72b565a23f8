/* Rows times panels of weights in F16. */
#ifndef TW_NAME
#define TW_NAME tw_block_f16
#endif

#define TW_LOAD_WEIGHTS tw_load_halves
#define TW_WEIGHTS_PART tw_halves_part

#include "block_floats.h"
