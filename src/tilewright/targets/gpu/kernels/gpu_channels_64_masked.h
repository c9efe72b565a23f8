/* Attention of heads with up to 64 channels, with a mask. */
#ifndef TW_GPU_CHANNELS_MASKED_H
#define TW_GPU_CHANNELS_MASKED_H

#define TW_MASKED

#include "gpu_channels_64.h"

#endif
