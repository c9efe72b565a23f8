/* Working memory of convolutions, products and attention of floats, on processors whose pointers have 8 bytes. */
#ifndef TW_PANELS_SIZES_H
#define TW_PANELS_SIZES_H

#include "conv_panels.h"
#include "depthwise_channels.h"
#include "fusedattention.h"
#include "matmul.h"
#include "winograd.h"

#define TW_POINTER_BYTES 8
#define TW_MOST_PANEL 32 /* columns of a panel at the most */
#define TW_MOST_TILE 14  /* rows of a tile at the most */
#define TW_CHUNK 256     /* elements of a row that are copied at a time */
#define TW_PACKED_PITCH (TW_CHUNK + 16) /* from a copied row to the next, which must not fall into one set of a cache */
#define TW_BAND_LANES 8  /* of vectors for which some channels of an image are copied before windows other than 3 x 3 */
#define TW_BAND_BYTES 32768 /* of such a copy */
#define TW_BAND_ROWS 8   /* of results that share it at the least */
#define TW_COPIED_BYTES 262144 /* of copied panels of a matrix that is computed */
#define TW_MOST_COPIED 64 /* such panels */
#define TW_PLACES 36     /* of a tile of 6 x 6 pixels that is transformed */

/* The copy of an image's rows with padding. */
static inline int64_t tw_conv_panels_band(const tw_conv_panels_params *p) {
  return p->padded ? (int64_t)p->band_h * p->band_w * p->groups * p->in_channels : 0;
}

/* Where windows begin, the copy with padding, a chunk of each window. */
static inline int64_t tw_conv_panels_scratch(const tw_conv_panels_params *p) {
  const int64_t windows = (int64_t)p->rows * p->out_w, packed = p->packs ? windows * TW_PACKED_PITCH : 0;
  return TW_POINTER_BYTES * windows + 4 * (tw_conv_panels_band(p) + packed);
}

/* Pixels of a row that all windows of a row of results need, padding included; and rows that some rows of them need. */
static inline int32_t tw_depthwise_band_w(const tw_depthwise_channels_params *p) {
  return (p->out_w - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1;
}

static inline int32_t tw_depthwise_band_h(const tw_depthwise_channels_params *p, int32_t rows) {
  return (rows - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
}

/* Rows of results at a time, whose band is about so large as a near cache. */
static inline int32_t tw_depthwise_band_rows(const tw_depthwise_channels_params *p, int32_t lanes) {
  const int32_t fit = TW_BAND_BYTES / (4 * lanes * tw_max(tw_depthwise_band_w(p), 1)) - tw_depthwise_band_h(p, 1);
  return tw_max(1, tw_min(p->out_h, tw_max(TW_BAND_ROWS, fit / p->stride_h + 1)));
}

/* Rows of results before the next channels. */
static inline int32_t tw_depthwise_rows(const tw_depthwise_channels_params *p, int32_t lanes) {
  return lanes < TW_BAND_LANES || p->three ? p->rows : tw_depthwise_band_rows(p, lanes);
}

/* Where rows of a window begin, a row of zeros, and with vectors of enough lanes the taps and a band
 * of so many channels, from a whole vector on. */
static inline int64_t tw_depthwise_channels_scratch(const tw_depthwise_channels_params *p, int32_t lanes) {
  const int64_t band_h = tw_depthwise_band_h(p, tw_depthwise_band_rows(p, lanes));
  const int64_t pixels = band_h * tw_depthwise_band_w(p) + (int64_t)p->kernel_h * p->kernel_w + 1;
  const int64_t band = lanes < TW_BAND_LANES ? 0 : lanes * pixels;
  return TW_POINTER_BYTES * (int64_t)p->kernel_h + 4 * ((int64_t)p->in_w * p->channels + band);
}

static inline int32_t tw_in_panels(int32_t count, int32_t panel) { return (count + panel - 1) / panel * panel; }

/* Pixels beside the image, and what sums start with. */
static inline int32_t tw_winograd_zeros(const tw_winograd_params *p) {
  return tw_max(p->in_channels, p->packs ? tw_in_panels(p->out_channels, TW_MOST_PANEL) : TW_MOST_PANEL);
}

/* Zeros, a result beside the image, transformed pixels and sums, a chunk of each tile's pixels. */
static inline int64_t tw_winograd_scratch(const tw_winograd_params *p) {
  const int64_t places = TW_PLACES * (int64_t)p->tiles * (p->in_channels + p->out_channels);
  const int64_t packed = p->packs ? (int64_t)p->tiles * TW_PACKED_PITCH : 0;
  return 4 * (tw_winograd_zeros(p) + p->out_channels + places + packed);
}

/* Panels of so many columns that all rows meet before the next ones. */
static inline int32_t tw_matmul_computed_panels(const tw_matmul_params *p, int32_t panel) {
  const int32_t all = (p->columns + panel - 1) / panel;
  const int32_t fit = (int32_t)(TW_COPIED_BYTES / (4 * (int64_t)panel * tw_max(p->inner, 1)));
  return tw_max(1, tw_min(tw_min(all, TW_MOST_COPIED), fit));
}

/* Zeros, and such panels. */
static inline int64_t tw_matmul_computed_scratch(const tw_matmul_params *p, int32_t panel) {
  return 4 * (int64_t)panel * (1 + (int64_t)tw_matmul_computed_panels(p, panel) * p->inner);
}

/* Zeros, some queries, their scores with some keys, keys and values as panels: of a few queries the scores of one with all
 * keys take no more. */
static inline int64_t tw_attention_panels_scratch(const tw_fusedattention_params *p, int32_t panel) {
  const int64_t keys = tw_in_panels(p->rows.keys, panel) * (int64_t)tw_max(p->rows.length, 1);
  const int64_t values = (int64_t)p->rows.keys * tw_in_panels(p->rows.width, panel);
  return 4 * (panel + 2 * TW_MOST_TILE * TW_PACKED_PITCH + keys + values);
}

#endif
