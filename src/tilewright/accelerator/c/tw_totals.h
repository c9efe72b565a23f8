/* Requantises totals that an accelerator has left: what a layer would have done with them itself. */
#ifndef TW_TOTALS_H
#define TW_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "requant.h"

/* Results lie as outer x channels x inner; `mul` and `add` have one value, or one for each channel. */
typedef struct {
  int32_t outer, channels, inner;
  int32_t mul_step, add_step; /* from channel to channel */
  int32_t products;           /* no total is farther from its bias; at most 2^30 */
  tw_requant requant;
} tw_totals;

#endif
