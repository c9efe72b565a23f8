/* Working memory of convolutions by dot products of four bytes whose weights are rows of taps. */
#ifndef TW_CONV_WORDS_SIZES_H
#define TW_CONV_WORDS_SIZES_H

#include "conv.h"

static inline int32_t tw_row_taps(const tw_conv_params *p) { return p->in_channels * p->kernel_h * p->kernel_w; }

/* With what fills up the last word. */
static inline int32_t tw_row_bytes(const tw_conv_params *p) { return (tw_row_taps(p) + 3) & ~3; }

static inline int32_t tw_filters_in_blocks(const tw_conv_params *p) { return (p->out_channels + 3) & ~3; }

#define TW_FACTOR_BYTES 24 /* tw_factor of requant_row.h */

/* How totals of filters are requantised and what they begin with, filters, the windows of four pixels side by side, and one alone. */
static inline int64_t tw_conv_words_scratch(const tw_conv_params *p) {
  const int64_t filters = tw_filters_in_blocks(p), bytes = tw_row_bytes(p);
  return (TW_FACTOR_BYTES + 4) * filters + bytes * (filters + 4 + 1);
}

#endif
