/* A product of matrices, tile by tile: rows are multiples of 16 bytes. */
#define TW_COPIED 16
#include "gpu_matmul_tiles.h"
