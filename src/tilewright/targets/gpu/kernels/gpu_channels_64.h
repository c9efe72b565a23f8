/* Attention of heads with up to 64 channels. */
#ifndef TW_GPU_CHANNELS_H
#define TW_GPU_CHANNELS_H

#define TW_MOST_PARTS 1 /* of 64 channels */

#endif
