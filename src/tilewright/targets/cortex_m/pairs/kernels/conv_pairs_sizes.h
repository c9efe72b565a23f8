/* Working memory of convolutions whose filters are in pairs. */
#ifndef TW_CONV_PAIRS_SIZES_H
#define TW_CONV_PAIRS_SIZES_H

#include "conv_blocked_sizes.h"
#include "conv_pairs.h"

/* Words of a panel for one pixel: two taps in each. */
static inline int32_t tw_panel_steps(int32_t taps) { return (taps + 1) / 2; }

/* One tap on every pixel: no band is needed. */
static inline int tw_has_no_band(const tw_conv_pairs_params *p) { return tw_is_flat(&p->conv) && !p->image_last; }

/* Elements of a row of the band, of all channels. */
static inline int32_t tw_pairs_row(const tw_conv_pairs_params *p) {
  const tw_conv_params *const conv = &p->conv;
  return p->image_last ? (tw_band_width(conv) * conv->in_channels + 3) & ~3 : tw_band_pitch(conv) * conv->in_channels;
}

/* The band of `chunk` rows of results, which may begin within a word, and is read and moved by words. */
static inline int64_t tw_pairs_band(const tw_conv_pairs_params *p, int32_t x_bytes) {
  return (int64_t)x_bytes * tw_band_rows(&p->conv, p->conv.chunk) * tw_pairs_row(p) + 8 * 4;
}

/* The panel of some pixels; behind it the offsets of taps and the band. */
static inline int64_t tw_conv_pairs_scratch(const tw_conv_pairs_params *p, int32_t x_bytes) {
  const int64_t taps = tw_taps(&p->conv), pixel = 4 * tw_panel_steps(tw_taps(&p->conv));
  if (tw_has_no_band(p)) return p->conv.out_h * p->conv.out_w >= TW_PANEL_PIXELS ? TW_PANEL_PIXELS * pixel : pixel;
  return TW_PANEL_PIXELS * pixel + 4 * taps + tw_pairs_band(p, x_bytes);
}

/* The band of `chunk` rows, which may begin within a word and is read by words. */
static inline int64_t tw_depthwise_windows_scratch(const tw_conv_pairs_params *p) {
  return (int64_t)tw_band_rows(&p->conv, p->conv.chunk) * tw_band_pitch(&p->conv) + 3 * 4;
}

/* The same of 16-bit elements, from the beginning of a word. */
static inline int64_t tw_depthwise_halves_scratch(const tw_conv_pairs_params *p) {
  return 2 * (int64_t)tw_band_rows(&p->conv, p->conv.chunk) * tw_band_pitch(&p->conv) + 2 * 4;
}

#endif
