/* A product of matrices, tile by tile: rows are multiples of four bytes. */
#define TW_COPIED 4
#include "gpu_matmul_tiles.h"
