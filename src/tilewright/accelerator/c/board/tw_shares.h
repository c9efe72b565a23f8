/* One core requantises all totals. */
#ifndef TW_SHARES_H
#define TW_SHARES_H

#include <stdint.h>

typedef struct {
  int32_t first, end;
} tw_share;

static inline tw_share tw_share_of(int32_t count) {
  const tw_share all = {0, count};
  return all;
}

#endif
