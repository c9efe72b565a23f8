/* Weights that are floats of 16 bits, F16, which shared memory holds (gpu_columns.h). */
#define TW_IS_STAGED
#include "gpu_block_f16.h"
