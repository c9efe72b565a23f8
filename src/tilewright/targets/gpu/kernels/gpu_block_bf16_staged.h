/* Weights that are floats of 16 bits, BF16, which shared memory holds (gpu_columns.h). */
#define TW_IS_STAGED
#include "gpu_block_bf16.h"
