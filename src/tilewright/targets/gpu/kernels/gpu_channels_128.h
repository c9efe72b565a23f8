/* Attention of heads with up to 128 channels. */
#ifndef TW_GPU_CHANNELS_H
#define TW_GPU_CHANNELS_H

#define TW_MOST_PARTS 2 /* of 64 channels */

#endif
