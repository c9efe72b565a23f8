/* A convolution of images with channels last, tile by tile: rows are multiples of eight bytes. */
#define TW_COPIED 8
#include "gpu_conv_tiles.h"
