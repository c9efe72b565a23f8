/* A convolution of images with channels last, tile by tile: rows are multiples of 16 bytes. */
#define TW_COPIED 16
#include "gpu_conv_tiles.h"
