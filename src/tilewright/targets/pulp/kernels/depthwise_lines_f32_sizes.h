/* Lines of an image that kernels of depthwise convolutions copy, a channel at a time, the working memory for them, and
 * their work. */
#ifndef TW_DEPTHWISE_LINES_F32_SIZES_H
#define TW_DEPTHWISE_LINES_F32_SIZES_H

#include "conv.h"
#include "conv_gradient.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* The convolution that is computed: windows over an image whose pixels lie `spread` apart. */
typedef struct {
  int32_t batch, groups, in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int32_t pad_top, pad_left, spread_h, spread_w;
} tw_depthwise;

static inline tw_depthwise tw_depthwise_of_conv(const tw_conv_params *p) {
  const tw_depthwise found = {p->batch, p->groups, p->in_h, p->in_w, p->out_h, p->out_w, p->kernel_h, p->kernel_w,
                              p->stride_h, p->stride_w, p->dilation_h, p->dilation_w, p->pad_top, p->pad_left, 1, 1};
  return found;
}

static inline tw_depthwise tw_depthwise_of_filters(const tw_conv_gradient_params *p) {
  const tw_depthwise found = {p->batch, p->groups, p->in_h, p->in_w, p->out_h, p->out_w, p->kernel_h, p->kernel_w,
                              p->stride_h, p->stride_w, p->dilation_h, p->dilation_w, p->pad_top, p->pad_left, 1, 1};
  return found;
}

/* The gradient by the operand: a convolution of g, spread by the strides, whose taps are turned round. */
static inline tw_depthwise tw_depthwise_of_operand(const tw_conv_gradient_params *p) {
  const tw_depthwise found = {p->batch, p->groups, p->out_h, p->out_w, p->in_h, p->in_w, p->kernel_h, p->kernel_w, 1, 1,
                              p->dilation_h, p->dilation_w, (p->kernel_h - 1) * p->dilation_h - p->pad_top,
                              (p->kernel_w - 1) * p->dilation_w - p->pad_left, p->stride_h, p->stride_w};
  return found;
}

/* Floats of a line: all columns that windows see. */
static inline int32_t tw_line_length(const tw_depthwise *d) {
  return (d->out_w - 1) * d->stride_w + (d->kernel_w - 1) * d->dilation_w + 1;
}

/* Rows from a window's first to its last one. */
static inline int32_t tw_reach_down(const tw_depthwise *d) { return (d->kernel_h - 1) * d->dilation_h + 1; }

/* Whether lines between the taps are kept for windows below; otherwise each window's lines are copied again. */
static inline int tw_keeps_all_lines(const tw_depthwise *d) { return tw_reach_down(d) <= 4 * d->kernel_h; }

static inline int32_t tw_kept_lines(const tw_depthwise *d) { return tw_keeps_all_lines(d) ? tw_reach_down(d) : d->kernel_h; }

/* Of one core: places of lines, lines, and sums of a line. */
static inline int64_t tw_lines_floats(const tw_depthwise *d) {
  return tw_kept_lines(d) * (1 + (int64_t)tw_line_length(d)) + d->out_w;
}

static inline int64_t tw_depthwise_rows_f32_scratch(const tw_conv_params *p, int32_t cores) {
  const tw_depthwise d = tw_depthwise_of_conv(p);
  return 4 * cores * tw_lines_floats(&d);
}

static inline int64_t tw_conv_weight_grad_channels_scratch(const tw_conv_gradient_params *p, int32_t cores) {
  const tw_depthwise d = tw_depthwise_of_filters(p);
  return 4 * cores * tw_lines_floats(&d);
}

static inline int64_t tw_conv_input_grad_channels_scratch(const tw_conv_gradient_params *p, int32_t cores) {
  const tw_depthwise d = tw_depthwise_of_operand(p);
  return 4 * cores * tw_lines_floats(&d);
}

/* Parts of the rows of a channel, so that all cores have some. */
static inline int32_t tw_parts_of_channel(int32_t channels, int32_t rows, int32_t cores) {
  if (channels % cores == 0 || channels >= 6 * cores) return 1;
  return tw_max(1, tw_min((4 * cores + channels - 1) / channels, (rows + 3) / 4));
}

/* Whether windows of 3 x 3 are computed at once. */
static inline int tw_are_nine(const tw_depthwise *d) {
  return d->kernel_h == 3 && d->kernel_w == 3 && d->spread_h == 1 && d->spread_w == 1;
}

/* The call; lines that are copied and their floats; rows of results; windows of nine; of others, rows of taps and taps. */
static inline int64_t tw_depthwise_work(const tw_depthwise *d, int32_t rows, int32_t cores, double *units) {
  const int32_t channels = d->batch * d->groups, parts = tw_parts_of_channel(channels, rows, cores);
  const int64_t items = tw_up((int64_t)channels * parts, cores);
  const double own = (double)items * rows / parts, windows = own * d->out_w, reach = tw_reach_down(d) - 1;
  const double lines = tw_keeps_all_lines(d) ? own * d->stride_h + (double)items * reach : own * d->kernel_h;
  const double runs = own * d->kernel_h * tw_up(d->kernel_w, 3) / d->spread_h;
  const int are_nine = tw_are_nine(d);
  TW_UNITS(1, lines, lines / d->spread_h * tw_line_length(d), own, are_nine ? windows : 0, are_nine ? 0 : runs,
           are_nine ? 0 : runs * d->out_w);
}

/* Extents of the layer become those of the tile. */
static inline tw_depthwise tw_depthwise_tile(tw_depthwise d, const tw_conv_loops *tile, int64_t rows, int64_t columns) {
  d.batch = (int32_t)tile->n, d.groups = (int32_t)tile->g, d.out_h = (int32_t)rows, d.out_w = (int32_t)columns;
  return d;
}

static inline int64_t tw_depthwise_rows_f32_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, double *units) {
  const tw_depthwise d = tw_depthwise_tile(tw_depthwise_of_conv(p), tile, tile->y, tile->x);
  return tw_depthwise_work(&d, d.out_h, cores, units);
}

static inline int64_t tw_conv_weight_grad_channels_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile,
                                                        int32_t cores, double *units) {
  const tw_depthwise d = tw_depthwise_tile(tw_depthwise_of_filters(p), tile, tile->y, tile->x);
  return tw_depthwise_work(&d, d.out_h, cores, units);
}

static inline int64_t tw_conv_input_grad_channels_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile,
                                                       int32_t cores, double *units) {
  const tw_depthwise d = tw_depthwise_tile(tw_depthwise_of_operand(p), tile, tile->y, tile->x);
  return tw_depthwise_work(&d, d.out_h, cores, units);
}

#endif
