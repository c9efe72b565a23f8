/* A product of matrices, tile by tile: of any rows. */
#define TW_COPIED 0
#include "gpu_matmul_tiles.h"
