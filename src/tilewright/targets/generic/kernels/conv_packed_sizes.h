/* Working memory of convolutions with packed weights. */
#ifndef TW_CONV_PACKED_SIZES_H
#define TW_CONV_PACKED_SIZES_H

#include "conv_packed.h"

/* Totals of a row of results, and a filter of 16 bits. */
static inline int64_t tw_conv_packed_scratch(const tw_conv_packed_params *p) {
  return 4 * (int64_t)p->conv.out_w + 2 * (int64_t)p->conv.in_channels * p->conv.kernel_h * p->conv.kernel_w;
}

#endif
