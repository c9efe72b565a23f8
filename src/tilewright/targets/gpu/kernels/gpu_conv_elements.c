/* A convolution of images with channels last, tile by tile: of any rows. */
#define TW_COPIED 0
#include "gpu_conv_tiles.h"
