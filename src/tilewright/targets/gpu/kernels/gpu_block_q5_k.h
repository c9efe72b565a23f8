/* Weights in blocks of Q5_K (gpu_block.h). */
#define TW_WEIGHT uint8_t
#define TW_BLOCK_BITS 5
#define TW_BLOCK_ZERO 0
#define TW_SCALING TW_SUPER
