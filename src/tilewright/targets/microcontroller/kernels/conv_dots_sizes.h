/* Working memory of convolutions by dot products of four bytes, and bit by bit. */
#ifndef TW_CONV_DOTS_SIZES_H
#define TW_CONV_DOTS_SIZES_H

#include "conv_blocked_sizes.h"

/* Of a filter, with what fills up the last word of so many weights. */
static inline int32_t tw_filled_taps(const tw_conv_params *p, int32_t of_word) { return (tw_taps(p) + of_word - 1) / of_word * of_word; }

/* Panels of four pixels that meet a block of filters one after the other: as many as these bytes hold, one at least; the last ones may
 * have two pixels, or one. */
#define TW_PANELS_BYTES 4096
static inline int32_t tw_panels(const tw_conv_params *p, int32_t filled) {
  const int32_t row = tw_is_flat(p) ? p->out_h * p->out_w : p->out_w, needed = (row + 3) / 4 + (row % 4 == 3);
  const int32_t held = TW_PANELS_BYTES / tw_max(1, 4 * filled);
  return tw_max(1, tw_min(needed, held));
}

/* Panels, and behind them the band of a row of results. */
static inline int64_t tw_panels_and_band(const tw_conv_params *p, int32_t filled) {
  const int64_t rows = (int64_t)p->in_channels * p->kernel_h;
  return 4 * (int64_t)filled * tw_panels(p, filled) + (tw_is_flat(p) ? 0 : 4 + rows * tw_band_pitch(p));
}

static inline int64_t tw_conv_dots_scratch(const tw_conv_params *p) { return tw_panels_and_band(p, tw_filled_taps(p, 4)); }
static inline int64_t tw_conv_bits_scratch(const tw_conv_params *p) { return tw_panels_and_band(p, tw_filled_taps(p, 16)); }

static inline int tw_is_3x3(const tw_conv_params *p) { return p->kernel_h == 3 && p->kernel_w == 3; }

/* Of a row of weights that begins with any of the four bytes of the first. */
static inline int32_t tw_shifted_words(const tw_conv_params *p) { return (p->kernel_w + 6) / 4; }

/* Shifted to each of four bytes, where they are not in registers. */
static inline int64_t tw_shifted_bytes(const tw_conv_params *p) {
  return tw_is_3x3(p) ? 0 : 16 * (int64_t)p->kernel_h * tw_shifted_words(p);
}

/* As many rows of totals as are worked on at a time, weights as words, the band of these rows with a word behind it, and shifted
 * weights. */
static inline int64_t tw_depthwise_dots_scratch(const tw_conv_params *p) {
  const int64_t band = (int64_t)tw_band_rows(p, p->chunk) * tw_band_pitch(p);
  return 4 * ((int64_t)p->chunk * p->out_w + p->kernel_h * p->kernel_w) + band + 4 + tw_shifted_bytes(p);
}

#endif
