/* Working memory of convolutions that copy rows of an image with their padding. */
#ifndef TW_CONV_BLOCKED_SIZES_H
#define TW_CONV_BLOCKED_SIZES_H

#include "conv.h"

/* Pixels of a panel, which are multiplied together. */
#define TW_PANEL_PIXELS 4

/* Elements of a row that all columns of a result read. */
static inline int32_t tw_band_width(const tw_conv_params *p) {
  return (p->out_w - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1;
}

/* From one row of a band to the next: whole words. */
static inline int32_t tw_band_pitch(const tw_conv_params *p) { return (tw_band_width(p) + 3) & ~3; }

/* Elements before a band that begins at a word, after which the first element of the image begins at one too. */
static inline int32_t tw_band_lead(const tw_conv_params *p) { return -p->pad_left & 3; }

/* Rows of an image that some rows of results read. */
static inline int32_t tw_band_rows(const tw_conv_params *p, int32_t rows) {
  return (rows - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
}

/* One tap on every pixel: pixels are multiplied where they are. */
static inline int tw_is_flat(const tw_conv_params *p) {
  return p->kernel_h == 1 && p->kernel_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->in_h == p->out_h &&
         p->in_w == p->out_w;
}

/* Products in a total. */
static inline int32_t tw_taps(const tw_conv_params *p) { return p->in_channels * p->kernel_h * p->kernel_w; }

/* The panel, and behind it the band of a row of results, which may begin within a word. */
static inline int64_t tw_conv_blocked_scratch(const tw_conv_params *p) {
  const int64_t rows = (int64_t)p->in_channels * p->kernel_h;
  return tw_is_flat(p) ? 0 : TW_PANEL_PIXELS * (int64_t)tw_taps(p) + 4 + rows * tw_band_pitch(p);
}

/* `chunk` rows of totals, the weights as words, and the band of these rows, which may begin within a word. */
static inline int64_t tw_depthwise_rows_scratch(const tw_conv_params *p) {
  const int64_t band = (int64_t)tw_band_rows(p, p->chunk) * tw_band_pitch(p);
  return 4 * ((int64_t)p->chunk * p->out_w + p->kernel_h * p->kernel_w) + 4 + band;
}

#endif
