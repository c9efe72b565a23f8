/* Working memory of convolutions and products of bytes, on processors whose pointers have 8 bytes. */
#ifndef TW_CONV_DOT_SIZES_H
#define TW_CONV_DOT_SIZES_H

#include "conv_dot.h"
#include "conv_dot_scaled.h"
#include "matmul_dot.h"

#define TW_POINTER_BYTES 8
#define TW_MOST_ROWS 8   /* TW_ROWS at the most */
#define TW_LINE_BYTES 64
#define TW_SPARE_BYTES 16 /* behind what is copied in whole vectors */

/* Rows and columns of the image with its padding, as far as windows reach. */
static inline int32_t tw_rows_reached(const tw_conv_params *p) {
  return (p->out_h - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
}

static inline int32_t tw_columns_reached(const tw_conv_params *p) {
  return (p->out_w - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1;
}

/* Bytes of some windows that are gathered. */
static inline int64_t tw_windows_bytes(const tw_conv_dot_params *p, int32_t pixels) {
  return p->window ? (int64_t)pixels * p->window + TW_SPARE_BYTES : 0;
}

/* Bytes of the image, if it is copied. */
static inline int64_t tw_image_bytes(const tw_conv_dot_params *p) {
  const int64_t pixels = (int64_t)tw_rows_reached(&p->conv) * tw_columns_reached(&p->conv);
  return p->padded ? pixels * p->conv.groups * p->conv.in_channels + TW_SPARE_BYTES : 0;
}

/* Where the windows of a strip are, whole blocks of so many rows; windows and the image, if they are copied, with bytes to
 * spare; windows for tiles, from a line of memory on. */
static inline int64_t tw_conv_dot_scratch(const tw_conv_dot_params *p, int32_t rows) {
  const int32_t pixels = (p->strip + rows - 1) / rows * rows;
  const int64_t tiled = p->tiled ? p->tiled + TW_LINE_BYTES : 0;
  return (int64_t)TW_POINTER_BYTES * pixels + tw_windows_bytes(p, pixels) + tw_image_bytes(p) + tiled;
}

/* What totals begin with, scales and biases, of whole blocks; and what the convolution needs. */
static inline int64_t tw_conv_dot_scaled_scratch(const tw_conv_dot_scaled_params *p, int32_t rows) {
  return 3 * 4 * (int64_t)p->filters + tw_conv_dot_scratch(&p->dot, rows);
}

/* Fours of taps that are multiplied together: of a column of a window, which neighbouring pixels share, or of any. */
static inline int tw_is_by_columns(const tw_conv_params *p) { return p->kernel_h >= 2 && p->kernel_h <= 4; }

static inline int32_t tw_tap_fours(const tw_conv_params *p) {
  return tw_is_by_columns(p) ? p->kernel_w : (p->kernel_h * p->kernel_w + 3) / 4;
}

/* Where the taps of a pixel are, and a pixel outside. */
static inline int64_t tw_depthwise_dot_scratch(const tw_conv_dot_params *p) {
  return TW_POINTER_BYTES * 4 * (int64_t)tw_tap_fours(&p->conv) + p->conv.groups;
}

/* Channels, or channels of several pixels, that one instruction takes at the most. */
#define TW_MOST_LANES 128

/* Rows of an image that a row of windows reaches, and pixels of one that are a stride apart. */
static inline int32_t tw_depthwise_slots(const tw_conv_params *p) { return (p->kernel_h - 1) * p->dilation_h + 1; }

static inline int32_t tw_depthwise_plane(const tw_conv_params *p) {
  return (tw_columns_reached(p) + p->stride_w - 1) / p->stride_w;
}

/* Where taps see a row, which rows are copied, what belongs to the channels of several pixels, and the copies. */
static inline int64_t tw_depthwise_widening_scratch(const tw_conv_dot_params *p) {
  const tw_conv_params *const conv = &p->conv;
  const int64_t taps = (int64_t)conv->kernel_h * conv->kernel_w, slots = tw_depthwise_slots(conv);
  const int64_t row = (int64_t)conv->stride_w * tw_depthwise_plane(conv) * conv->groups;
  return TW_POINTER_BYTES * taps + 4 * (slots + 3 * TW_MOST_LANES) + taps * TW_MOST_LANES + slots * row;
}

/* Bytes of a row or a column that is copied. */
static inline int32_t tw_whole_fours(int32_t inner) { return (inner + 3) / 4 * 4; }

/* Starts, factors and summands of the columns, ones, copied rows, and the panel. */
static inline int64_t tw_matmul_dot_scratch(const tw_matmul_dot_params *p) {
  return 3 * 4 * (int64_t)p->columns + (int64_t)tw_whole_fours(p->product.inner) * (1 + TW_MOST_ROWS + p->columns);
}

#endif
