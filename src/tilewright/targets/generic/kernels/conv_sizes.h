/* What convolutions work on at a time, and the bytes of working memory that they need for it. The planner asks these
 * functions, compiled for the machine that it runs on; kernels share them. */
#ifndef TW_CONV_SIZES_H
#define TW_CONV_SIZES_H

#include "conv.h"

/* Results that are computed at a time: their totals for a few filters fit into vector registers. */
#define TW_PIXELS 32

/* Filters that are computed at a time for a block of pixels. */
#define TW_FILTERS 4

typedef struct {
  int32_t in_y, in_x;    /* where the band begins in the image; negative in padding */
  int32_t rows, columns; /* input elements that are read */
  int32_t pitch;         /* elements from row to row */
} tw_band;

/* The band of some rows and columns of the result. */
static inline tw_band tw_band_of(const tw_conv_params *p, int32_t out_y, int32_t out_x, int32_t rows, int32_t columns) {
  tw_band band;
  band.in_y = out_y * p->stride_h - p->pad_top;
  band.in_x = out_x * p->stride_w - p->pad_left;
  band.rows = (rows - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  band.columns = (columns - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1;
  band.pitch = band.columns;
  return band;
}

/* Elements of the band of some rows and columns. */
static inline int64_t tw_band_elements(const tw_conv_params *p, int32_t rows, int32_t columns) {
  const tw_band band = tw_band_of(p, 0, 0, rows, columns);
  return (int64_t)band.rows * band.pitch;
}

/* Elements per channel of the largest band that a block of TW_PIXELS results reads. */
static inline int64_t tw_block_band(const tw_conv_params *p) {
  const int32_t is_panel = p->kernel_h == 1 && p->kernel_w == 1 && p->stride_w == 1;
  const int64_t one_row = is_panel ? TW_PIXELS : tw_band_elements(p, 1, tw_min(p->out_w, TW_PIXELS));
  const int32_t width = tw_max(p->out_w, 1), rows = tw_min(p->out_h, (TW_PIXELS - 1 + width - 1) / width + 1);
  const int64_t some_rows = rows > 1 ? tw_band_elements(p, rows, p->out_w) : 0;
  return one_row > some_rows ? one_row : some_rows;
}

/* Whether each channel's band is a row of the panel, in every block: one row of results with one tap. */
static inline int tw_needs_no_panel(const tw_conv_params *p) {
  return p->out_h == 1 && p->kernel_h == 1 && p->kernel_w == 1 && p->stride_w == 1;
}

/* Elements of the panel, if there is one, with a row to spare. */
static inline int64_t tw_panel_alone(const tw_conv_params *p, int32_t channels) {
  return tw_needs_no_panel(p) ? 0 : ((int64_t)channels * p->kernel_h * p->kernel_w + 1) * TW_PIXELS;
}

/* Elements of the panel and of the band of `chunk` channels with elements to spare. */
static inline int64_t tw_panel_elements(const tw_conv_params *p) {
  return tw_panel_alone(p, p->chunk) + p->chunk * tw_block_band(p) + TW_PIXELS * p->stride_w;
}

static inline int64_t tw_conv_f32_scratch(const tw_conv_params *p) { return 4 * tw_panel_elements(p); }

/* A start for each filter, totals where one chunk of channels does not complete them, panel and band. */
static inline int64_t tw_conv_int8_scratch(const tw_conv_params *p) {
  const int64_t totals = p->chunk < p->in_channels ? (int64_t)TW_PIXELS * p->out_channels : 0;
  return 4 * (p->out_channels + totals) + tw_panel_elements(p);
}

/* The band of `chunk` rows of results and their totals, both with elements to spare. */
static inline int64_t tw_depthwise_scratch(const tw_conv_params *p, int32_t x_bytes) {
  const tw_band band = tw_band_of(p, 0, 0, p->chunk, p->out_w);
  const int64_t elements = (int64_t)band.rows * band.pitch + TW_PIXELS * p->stride_w;
  return x_bytes * elements + 4 * ((int64_t)p->chunk * band.pitch + TW_PIXELS);
}

/* The window of a pixel, all groups of it: bytes as 16 bits, all else as 32. */
static inline int64_t tw_window_scratch(const tw_conv_params *p, int32_t x_bytes, int32_t w_bytes) {
  const int64_t elements = (int64_t)p->groups * p->in_channels * p->kernel_h * p->kernel_w;
  return (x_bytes == 1 && w_bytes == 1 ? 2 : 4) * elements;
}

/* Totals of a row of results. */
static inline int64_t tw_convtranspose_scratch(const tw_conv_params *p) { return 4 * (int64_t)p->out_w; }

#endif
