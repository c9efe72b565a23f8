/* Weights of 8 bits (gpu_matmul_nbits.c). */
#define TW_BITS 8
