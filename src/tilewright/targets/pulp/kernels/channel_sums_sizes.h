/* Working memory of sums by channel. */
#ifndef TW_CHANNEL_SUMS_SIZES_H
#define TW_CHANNEL_SUMS_SIZES_H

#include "channel_sums.h"

/* Totals of each core. */
static inline int64_t tw_channel_sums_scratch(const tw_channel_sums_params *p, int32_t cores) {
  return (int64_t)cores * p->channels * 4;
}

#endif
