/* Weights that are floats of 16 bits, BF16, some of which shared memory holds at a time (gpu_columns_held.h). */
#define TW_IS_HELD
#include "gpu_block_bf16.h"
