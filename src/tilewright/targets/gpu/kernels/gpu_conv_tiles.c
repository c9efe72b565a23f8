/* A convolution of images with channels last, tile by tile: rows are multiples of 16 bytes. */
#define TW_COPY_BYTES 16
#include "gpu_conv_tiles.h"
