/* This core's part of `count` elements of `bytes` each that lie one behind the other. Of long runs each core has an odd
 * number of words: cores that begin together are in different banks of L1 and do not wait for one another. */
#ifndef TW_SHARE_OF_RUN_H
#define TW_SHARE_OF_RUN_H

#include "cluster.h"

static inline tw_share tw_share_of_run(int32_t count, int32_t bytes) {
  const int32_t words = (int32_t)(((uint32_t)(count * bytes) + 4 * TW_CORES - 1) / (4 * TW_CORES));
  if (words < 16) return tw_share_of(count);
  const int32_t each = (4 * (words | 1) + bytes - 1) / bytes;  /* elements of two words end on a whole one */
  const int32_t first = each * tw_core(), end = first + each;
  const tw_share share = {first < count ? first : count, end < count ? end : count};
  return share;
}

#endif
