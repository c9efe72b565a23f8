/* The same with rows that are multiples of four bytes. */
#ifndef TW_NAME
#include "gpu_tile_32x32.h"
#endif
#define TW_COPY_BYTES 4
#include "gpu_matmul_tiles.c"
