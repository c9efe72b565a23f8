/* Working memory of depthwise convolutions of bytes with any window. */
#ifndef TW_DEPTHWISE_TAPS_SIZES_H
#define TW_DEPTHWISE_TAPS_SIZES_H

#include "conv_blocked_sizes.h"
#include "conv_pairs.h"

enum { TW_TAPS_COLUMNS = 4 }; /* of results that are computed together */
enum { TW_LONG_ROW = 5 };     /* rows of windows with so many words or more have an even number of them */
enum { TW_TAP_ROW_BYTES = 16 };

/* Words of a row of a window: windows at odd columns need room for one weight more. */
static inline int32_t tw_taps_words(const tw_conv_params *p) {
  const int32_t words = p->kernel_w / 2 + 1;
  return words >= TW_LONG_ROW ? (words + 1) & ~1 : words;
}

/* Elements of a row of the band: an even number, with what windows read behind their last column. */
static inline int32_t tw_taps_pitch(const tw_conv_params *p) {
  const int32_t columns = tw_max(p->out_w, TW_TAPS_COLUMNS);
  const int32_t read = (columns - 1) * p->stride_w + 2 * tw_taps_words(p) + 2;
  return (tw_max(read, p->pad_left + p->in_w) + 1) & ~1;
}

/* Rows of the image that `chunk` rows of results read at the most. */
static inline int32_t tw_taps_rows(const tw_conv_params *p) { return tw_min(p->in_h, tw_band_rows(p, p->chunk)); }

static inline int64_t tw_taps_totals(const tw_conv_params *p) { return (int64_t)p->chunk * p->out_w + TW_TAPS_COLUMNS; }

/* Totals of `chunk` rows, these rows, and the band, behind which a word is read. */
static inline int64_t tw_depthwise_taps_scratch(const tw_conv_pairs_params *p) {
  const tw_conv_params *const conv = &p->conv;
  const int64_t band = (int64_t)tw_taps_rows(conv) * tw_taps_pitch(conv);
  return 4 * tw_taps_totals(conv) + (int64_t)conv->chunk * TW_TAP_ROW_BYTES + 2 * band + 8;
}

#endif
