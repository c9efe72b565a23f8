/* Weights of 4 bits (gpu_matmul_nbits.c). */
#define TW_BITS 4
