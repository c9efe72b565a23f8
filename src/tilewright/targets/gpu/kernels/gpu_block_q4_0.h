/* Weights in blocks of Q4_0 (gpu_block.h). */
#define TW_WEIGHT uint8_t
#define TW_BLOCK_BITS 4
#define TW_BLOCK_ZERO 8
#define TW_SCALING TW_PLAIN
