/* How depthwise convolutions are cut among cores, and their working memory. */
#ifndef TW_DEPTHWISE_SIZES_H
#define TW_DEPTHWISE_SIZES_H

#include "conv.h"

/* Bytes that a core has for its image and its sums, if a row does not take more. */
#define TW_ROOM 4096

/* Input rows that some rows of results read, and columns of a row. */
static inline int32_t tw_rows_read(const tw_conv_params *p, int32_t rows) {
  return (rows - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
}

static inline int32_t tw_columns_read(const tw_conv_params *p) {
  return (p->out_w - 1) * p->stride_w + (p->kernel_w - 1) * p->dilation_w + 1;
}

/* Words of one channel and one filter's sums of so many rows of results. */
static inline int32_t tw_image_words(const tw_conv_params *p, int32_t rows) {
  return tw_rows_read(p, rows) * tw_columns_read(p);
}

/* Filters that are computed together, of all images. */
static inline int32_t tw_filter_pairs(const tw_conv_params *p) { return (p->groups * p->out_channels + 1) >> 1; }

/* Rows of results at a time: as many as there is room for, and few enough for all cores to have some. */
static inline int64_t tw_depthwise_chunk(const tw_conv_params *p, int32_t cores) {
  const int32_t pairs = tw_max(p->batch * tw_filter_pairs(p), 1), bands = (cores + pairs - 1) / pairs;
  int32_t rows = (p->out_h + bands - 1) / bands;
  while (rows > 1 && 8 * (tw_image_words(p, rows) + rows * p->out_w) > TW_ROOM) rows--;
  return tw_max(rows, 1);
}

/* Of one core, words: the image of `chunk` rows of two channels, the weights and the sums of two filters. */
static inline int32_t tw_depthwise_words(const tw_conv_params *p) {
  return 2 * (tw_image_words(p, p->chunk) + p->kernel_h * p->kernel_w + p->chunk * p->out_w);
}

static inline int64_t tw_depthwise_streams_scratch(const tw_conv_params *p, int32_t cores) {
  return 4 * (int64_t)cores * tw_depthwise_words(p);
}

/* Tables of what bytes of an image and of weights are as floats, besides. */
static inline int64_t tw_depthwise_bytes_scratch(const tw_conv_params *p, int32_t cores) {
  return 2 * 256 * 4 + tw_depthwise_streams_scratch(p, cores);
}

#endif
