/* A product of matrices, tile by tile: rows are multiples of eight bytes. */
#define TW_COPIED 8
#include "gpu_matmul_tiles.h"
