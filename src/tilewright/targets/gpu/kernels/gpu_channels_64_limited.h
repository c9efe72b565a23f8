/* Attention of heads with up to 64 channels, with windows and soft caps. */
#ifndef TW_GPU_CHANNELS_LIMITED_H
#define TW_GPU_CHANNELS_LIMITED_H

#define TW_LIMITED

#include "gpu_channels_64.h"

#endif
