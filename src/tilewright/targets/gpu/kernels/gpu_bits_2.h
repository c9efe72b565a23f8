/* Weights of 2 bits (gpu_matmul_nbits.c). */
#define TW_BITS 2
