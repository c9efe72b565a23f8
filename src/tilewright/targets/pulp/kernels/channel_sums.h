#ifndef TW_CHANNEL_SUMS_H
#define TW_CHANNEL_SUMS_H

#include "tw.h"

/* Sums over rows of channels. */
typedef struct {
  int32_t rows, channels;
} tw_channel_sums_params;

#endif
