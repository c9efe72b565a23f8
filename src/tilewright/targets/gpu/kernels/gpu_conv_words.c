/* A convolution of images with channels last, tile by tile: rows are multiples of four bytes. */
#define TW_COPIED 4
#if defined(TW_GPU_DEVICE) && __CUDA_ARCH__ < 800
#define TW_GROUPS_AT_ONCE 2 /* without copies that go on by themselves, more is in registers */
#endif
#include "gpu_conv_tiles.h"
