/* Working memory of convolutions by all cores: of bytes, depthwise ones, and of floats. */
#ifndef TW_CONV_DOTS_SIZES_H
#define TW_CONV_DOTS_SIZES_H

#include "columns.h"
#include "conv.h"

/* One tap on neighbouring pixels: the image is as good as a matrix. */
static inline int tw_conv_is_pointwise(const tw_conv_params *p) {
  return p->kernel_h * p->kernel_w == 1 && p->in_channels >= 4 && p->stride_h == 1 && p->stride_w == 1 && p->groups == 1 &&
         p->out_h == p->in_h && p->out_w == p->in_w && p->pad_top == 0 && p->pad_left == 0;
}

/* Whether all windows lie in the image, and its pixels are whole words: strips of it are not copied. */
static inline int tw_windows_are_inside(const tw_conv_params *p) {
  const int32_t rows = (p->out_h - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  const int32_t columns = (p->out_w - 1) * p->stride_w + p->kernel_w;
  return p->in_channels % 4 == 0 && !p->pad_top && !p->pad_left && rows <= p->in_h && columns <= p->in_w;
}

/* Rows and columns of an image that all windows see. */
static inline int64_t tw_seen_rows(const tw_conv_params *p) { return (p->out_h - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1; }
static inline int64_t tw_seen_columns(const tw_conv_params *p) {
  return (p->out_w - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1;
}

/* Whether windows reach beyond the image. */
static inline int tw_reaches_beyond(const tw_conv_params *p) {
  return p->pad_top || p->pad_left || tw_seen_rows(p) > p->in_h || tw_seen_columns(p) > p->in_w;
}

/* ---- how much is worked on at a time ---- */

/* Of each core: of a strip of the image, of windows that are gathered, and of planes of four channels. */
#define TW_STRIP_BYTES 3072
#define TW_GATHERED_BYTES 2048
#define TW_PLANE_BYTES 2048
/* Of an image that is copied with its padding, at most. */
#define TW_PADDED_BYTES 4096

/* Words of a row of a strip of the image for some output pixels of a row, with its padding and pixels in whole words. */
static inline int64_t tw_strip_words(const tw_conv_params *p, int32_t pixels) {
  return (int64_t)((pixels - 1) * p->stride_w + p->kernel_w) * ((p->in_channels + 3) >> 2);
}

static inline int64_t tw_strip_bytes(const tw_conv_params *p, int32_t pixels) {
  return tw_windows_are_inside(p) ? 0 : 4 * p->kernel_h * tw_strip_words(p, pixels);
}

/* Whether windows that are left in strips take fewer cycles of a core, about, than those that are gathered. */
static inline int tw_strips_are_faster(const tw_conv_params *p) {
  const int64_t lines = (int64_t)p->batch * p->out_h, count = lines * p->out_w, rows = p->kernel_h, quads = (p->out_channels + 3) >> 2;
  const int64_t words = (rows * p->kernel_w * p->in_channels + 3) >> 2, run = p->kernel_w * ((p->in_channels + 3) >> 2);
  const int64_t gathered = ((count + 3) >> 2) * quads * (24 * words + 100) + count * (3 * words + 25 * rows + 40);
  const int64_t copied = tw_windows_are_inside(p) ? 0 : rows * (40 + 3 * tw_strip_words(p, p->out_w));
  return lines * (((p->out_w + 3) >> 2) * quads * (24 * run * rows + 115 + 5 * rows) + copied) < gathered;
}

/* Whether windows are taken from strips of the image: `strips`. */
static inline int64_t tw_conv_dots_strips(const tw_conv_params *p) {
  const int is_plain = p->groups == 1 && p->dilation_w == 1 && !p->w_zero, run = p->kernel_w * ((p->in_channels + 3) >> 2);
  return is_plain && p->out_channels >= 4 && p->out_w >= 4 && run >= 2 && !tw_conv_is_pointwise(p) && tw_strips_are_faster(p);
}

/* Bytes of the image with its padding, as far as windows reach, where they are gathered from a copy of it; else 0. */
static inline int64_t tw_padded_image(const tw_conv_params *p) {
  if (p->groups != 1 || p->dilation_w != 1 || p->kernel_h * p->kernel_w == 1 || !tw_reaches_beyond(p)) return 0;
  const int64_t bytes = p->batch * tw_seen_rows(p) * tw_seen_columns(p) * p->in_channels;
  return bytes <= TW_PADDED_BYTES ? bytes : 0;
}

/* `padded` */
static inline int64_t tw_conv_dots_padded(const tw_conv_params *p) { return !tw_conv_dots_strips(p) && tw_padded_image(p); }

/* `chunk`: output pixels of a row, as many as a strip has room for; or windows, in whole blocks of four. */
static inline int64_t tw_conv_dots_chunk(const tw_conv_params *p) {
  if (tw_conv_dots_strips(p)) {
    int32_t pixels = p->out_w;
    if (tw_strip_bytes(p, pixels) > TW_STRIP_BYTES) pixels = tw_max(4, (pixels - 1) & ~3);
    while (pixels > 4 && tw_strip_bytes(p, pixels) > TW_STRIP_BYTES) pixels -= 4;
    return pixels;
  }
  const int32_t length = p->kernel_h * p->kernel_w * p->in_channels;
  return tw_max(4, tw_min(16, TW_GATHERED_BYTES / tw_max(length, 1) & ~3));
}

/* Bytes from row to row of a plane. */
static inline int64_t tw_plane_pitch(const tw_conv_params *p) {
  const int32_t read = (p->out_w - 1) * p->stride_w + ((p->kernel_w + 3) & ~3);
  return (tw_max(p->pad_left + p->in_w, read) + 3) & ~3;
}

/* Rows of input that some rows of results need. */
static inline int64_t tw_plane_rows(const tw_conv_params *p, int64_t rows) {
  return (rows - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
}

/* `chunk` of depthwise convolutions: rows of results, few enough for the planes and for all cores to have some, but not fewer than
 * needed. */
static inline int64_t tw_depthwise_chunk(const tw_conv_params *p, int32_t all_cores) {
  const int32_t quads = p->batch * ((p->groups + 3) >> 2);
  int32_t strips = 1;
  while (strips < p->out_h && (strips * quads) % all_cores && strips * quads < 4 * all_cores) strips++;
  int64_t rows = (p->out_h + strips - 1) / strips;
  while (rows > 1 && 4 * tw_plane_pitch(p) * tw_plane_rows(p, rows) > TW_PLANE_BYTES) rows--;
  return rows > 1 ? rows : 1;
}

/* ---- working memory ---- */

/* What is prepared for four filters each; filters in whole words, where they are not; for each core a strip, or windows;
 * an image with its padding. */
static inline int64_t tw_conv_dots_scratch(const tw_conv_params *p, int32_t cores) {
  const int64_t length = p->kernel_h * p->kernel_w * p->in_channels, filters = p->groups * p->out_channels;
  const int64_t columns = (int64_t)sizeof(tw_columns) * p->groups * ((p->out_channels + 3) >> 2);
  if (tw_conv_is_pointwise(p)) return columns;
  const int64_t in_strips = (int64_t)p->kernel_h * p->kernel_w * ((p->in_channels + 3) & ~3);
  const int64_t filter = p->strips ? in_strips : (length + 3) & ~(int64_t)3;
  const int64_t filled = filter == length ? 0 : filters * filter;
  if (p->strips) return columns + filled + cores * tw_strip_bytes(p, p->chunk);
  return columns + filled + cores * p->chunk * filter + (p->padded ? tw_padded_image(p) : 0);
}

/* For each core the planes of four channels that `chunk` rows of results need, and their taps as words. */
static inline int64_t tw_depthwise_dots_scratch(const tw_conv_params *p, int32_t cores) {
  return cores * (4 * tw_plane_pitch(p) * tw_plane_rows(p, p->chunk) + 16 * ((p->kernel_w + 3) >> 2) * p->kernel_h);
}

/* The same, and the taps of one channel twice: depthwise_windows.c. */
static inline int64_t tw_depthwise_windows_scratch(const tw_conv_params *p, int32_t cores) {
  return tw_depthwise_dots_scratch(p, cores) + 16 * (int64_t)cores * p->kernel_h;
}

/* Whether windows are pixels of the image, none of them outside. */
static inline int tw_conv_is_one_tap(const tw_conv_params *p) {
  return p->kernel_h * p->kernel_w == 1 && p->pad_top == 0 && p->pad_left == 0 &&
         (p->out_h - 1) * p->stride_h < p->in_h && (p->out_w - 1) * p->stride_w < p->in_w;
}

/* Floats of a window of up to this many are copied once for all filters. */
#define TW_MOST_COPIED 160

/* How many floats of a window are copied at once: all, or a row. */
static inline int32_t tw_conv_blocks_window(const tw_conv_params *p) {
  const int32_t run = p->kernel_w * p->in_channels;
  return p->kernel_h > 1 && p->kernel_h * run <= TW_MOST_COPIED ? p->kernel_h * run : run;
}

/* A row of zeros as long as a filter's, and room for four more for each core. */
static inline int64_t tw_conv_blocks_scratch(const tw_conv_params *p, int32_t cores) {
  return 4 * ((int64_t)p->kernel_w * p->in_channels + 4 * (int64_t)tw_conv_blocks_window(p) * cores);
}

#endif
