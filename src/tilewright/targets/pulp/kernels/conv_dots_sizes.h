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

/* A strip of the image for `chunk` output pixels of a row, with its padding and pixels in whole words. */
static inline int64_t tw_strip_bytes(const tw_conv_params *p) {
  const int64_t pixel = (p->in_channels + 3) & ~3;
  return tw_windows_are_inside(p) ? 0 : p->kernel_h * ((p->chunk - 1) * p->stride_w + p->kernel_w) * pixel;
}

/* The image with its padding, as far as windows reach. */
static inline int64_t tw_padded_bytes(const tw_conv_params *p) {
  const int64_t height = (p->out_h - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  const int64_t width = (p->out_w - 1) * p->stride_w + p->kernel_w;
  return p->padded ? p->batch * height * width * p->in_channels : 0;
}

/* What is prepared for four filters each; filters in whole words, where they are not; for each core a strip, or windows;
 * an image with its padding. */
static inline int64_t tw_conv_dots_scratch(const tw_conv_params *p, int32_t cores) {
  const int64_t length = p->kernel_h * p->kernel_w * p->in_channels, filters = p->groups * p->out_channels;
  const int64_t columns = (int64_t)sizeof(tw_columns) * p->groups * ((p->out_channels + 3) >> 2);
  if (tw_conv_is_pointwise(p)) return columns;
  const int64_t in_strips = (int64_t)p->kernel_h * p->kernel_w * ((p->in_channels + 3) & ~3);
  const int64_t filter = p->strips ? in_strips : (length + 3) & ~(int64_t)3;
  const int64_t filled = filter == length ? 0 : filters * filter;
  if (p->strips) return columns + filled + cores * tw_strip_bytes(p);
  return columns + filled + cores * p->chunk * filter + tw_padded_bytes(p);
}

/* For each core the planes of four channels that `chunk` rows of results need, and their taps as words. */
static inline int64_t tw_depthwise_dots_scratch(const tw_conv_params *p, int32_t cores) {
  const int32_t words = (p->kernel_w + 3) >> 2, read = (p->out_w - 1) * p->stride_w + 4 * words;
  const int64_t pitch = (tw_max(p->pad_left + p->in_w, read) + 3) & ~3;
  const int64_t rows = (p->chunk - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  return cores * (4 * pitch * rows + 16 * words * p->kernel_h);
}

/* The same, and the taps of one channel twice: depthwise_windows.c. */
static inline int64_t tw_depthwise_windows_scratch(const tw_conv_params *p, int32_t cores) {
  return tw_depthwise_dots_scratch(p, cores) + 16 * (int64_t)cores * p->kernel_h;
}

/* A row of zeros as long as a filter's, and room for four more for each core. */
static inline int64_t tw_conv_blocks_scratch(const tw_conv_params *p, int32_t cores) {
  return 4 * (int64_t)p->kernel_w * p->in_channels * (1 + 4 * cores);
}

#endif
