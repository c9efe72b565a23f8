/* Weights in blocks of Q6_K (gpu_block.h). */
#define TW_WEIGHT uint8_t
#define TW_BLOCK_BITS 6
#define TW_BLOCK_ZERO 32
#define TW_SCALING TW_SUPER_APART
