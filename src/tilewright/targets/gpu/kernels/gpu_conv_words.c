/* A convolution of images with channels last, tile by tile: rows are multiples of four bytes. */
#define TW_COPIED 4
#include "gpu_conv_tiles.h"
