/* Weights that are floats of 16 bits, BF16 (gpu_block.h). */
#define TW_MOST_ROWS 1
#define TW_WEIGHT uint16_t
#define TW_WEIGHT_LOAD tw_from_bfloat16
