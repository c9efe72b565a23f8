/* Planes that kernels of depthwise convolutions copy: rows of one channel with their padding. The working memory for them,
 * and the work. */
#ifndef TW_DEPTHWISE_PLANES_F32_SIZES_H
#define TW_DEPTHWISE_PLANES_F32_SIZES_H

#include "conv.h"
#include "conv_gradient.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* The convolution that is computed: windows over an image whose pixels lie `spread` apart. Steps are those from one pixel
 * or tap to the next, pitches from one row to the next. */
typedef struct {
  int32_t batch, groups, in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int32_t pad_top, pad_left, spread_h, spread_w;
  int32_t x_step, x_pitch, y_step, y_pitch, w_step, w_pitch;
} tw_depthwise;

static inline void tw_swap(int32_t *a, int32_t *b) {
  const int32_t kept = *a;
  *a = *b, *b = kept;
}

/* With steps; columns become rows where these are longer, because the work for a row is less then. */
static inline tw_depthwise tw_depthwise_in_long_rows(tw_depthwise d) {
  d.x_step = d.y_step = d.groups, d.w_step = 1;
  d.x_pitch = d.in_w * d.groups, d.y_pitch = d.out_w * d.groups, d.w_pitch = d.kernel_w;
  if (d.out_h <= d.out_w) return d;
  tw_swap(&d.in_h, &d.in_w), tw_swap(&d.out_h, &d.out_w), tw_swap(&d.kernel_h, &d.kernel_w);
  tw_swap(&d.stride_h, &d.stride_w), tw_swap(&d.dilation_h, &d.dilation_w), tw_swap(&d.pad_top, &d.pad_left);
  tw_swap(&d.spread_h, &d.spread_w), tw_swap(&d.x_step, &d.x_pitch), tw_swap(&d.y_step, &d.y_pitch);
  tw_swap(&d.w_step, &d.w_pitch);
  return d;
}

/* As conv.h and conv_gradient.h call them. */
#define TW_AS_IT_IS(p)                                                                                                   (p)->batch, (p)->groups, (p)->in_h, (p)->in_w, (p)->out_h, (p)->out_w, (p)->kernel_h, (p)->kernel_w, (p)->stride_h,       (p)->stride_w, (p)->dilation_h, (p)->dilation_w, (p)->pad_top, (p)->pad_left, 1, 1, 0, 0, 0, 0, 0, 0

static inline tw_depthwise tw_depthwise_of_conv(const tw_conv_params *p) {
  const tw_depthwise found = {TW_AS_IT_IS(p)};
  return found;
}

static inline tw_depthwise tw_depthwise_of_filters(const tw_conv_gradient_params *p) {
  const tw_depthwise found = {TW_AS_IT_IS(p)};
  return found;
}

/* The gradient by the operand: a convolution of g, spread by the strides, whose taps are turned round. */
static inline tw_depthwise tw_depthwise_of_operand(const tw_conv_gradient_params *p) {
  tw_depthwise d = tw_depthwise_of_filters(p);
  tw_swap(&d.in_h, &d.out_h), tw_swap(&d.in_w, &d.out_w);
  tw_swap(&d.stride_h, &d.spread_h), tw_swap(&d.stride_w, &d.spread_w);
  d.pad_top = (p->kernel_h - 1) * p->dilation_h - p->pad_top;
  d.pad_left = (p->kernel_w - 1) * p->dilation_w - p->pad_left;
  return d;
}

/* Floats of a plane, where a row of windows takes less. */
#define TW_PLANE_FLOATS 1024
/* Floats behind a plane that windows load and do not use. */
#define TW_PLANE_SLACK 4

/* Columns of a plane: all that windows see. */
static inline int32_t tw_channel_pitch(const tw_depthwise *d) {
  return (d->out_w - 1) * d->stride_w + (d->kernel_w - 1) * d->dilation_w + 1;
}

/* Rows of a plane that so many rows of windows see. */
static inline int32_t tw_channel_rows(const tw_depthwise *d, int32_t rows) {
  return (rows - 1) * d->stride_h + (d->kernel_h - 1) * d->dilation_h + 1;
}

/* Rows of windows for one plane. */
static inline int32_t tw_rows_at_once(const tw_depthwise *d) {
  const int32_t room = TW_PLANE_FLOATS / tw_channel_pitch(d) - tw_channel_rows(d, 1);
  return room < 0 ? 1 : tw_min(d->out_h, 1 + room / d->stride_h);
}

/* Whether windows of 3 x 3 are computed at once; others are summed up tap by tap. */
static inline int tw_are_nine(const tw_depthwise *d) { return d->kernel_h == 3 && d->kernel_w == 3; }

static inline int64_t tw_plane_floats(const tw_depthwise *d) {
  return (int64_t)tw_channel_pitch(d) * tw_channel_rows(d, tw_rows_at_once(d)) + TW_PLANE_SLACK;
}

/* Of one core: a plane, and sums of its windows. Planes of different cores begin in different banks. */
static inline int64_t tw_depthwise_floats(const tw_depthwise *d, int has_sums) {
  const int64_t sums = has_sums && !tw_are_nine(d) ? (int64_t)tw_rows_at_once(d) * d->out_w : 0;
  return ((tw_plane_floats(d) + sums + 15) & ~INT64_C(15)) + 2;
}

static inline int64_t tw_depthwise_rows_f32_scratch(const tw_conv_params *p, int32_t cores) {
  const tw_depthwise d = tw_depthwise_in_long_rows(tw_depthwise_of_conv(p));
  return 4 * cores * tw_depthwise_floats(&d, 1);
}

static inline int64_t tw_conv_weight_grad_channels_scratch(const tw_conv_gradient_params *p, int32_t cores) {
  const tw_depthwise d = tw_depthwise_in_long_rows(tw_depthwise_of_filters(p));
  return 4 * cores * tw_depthwise_floats(&d, 0);
}

static inline int64_t tw_conv_input_grad_channels_scratch(const tw_conv_gradient_params *p, int32_t cores) {
  const tw_depthwise d = tw_depthwise_in_long_rows(tw_depthwise_of_operand(p));
  return 4 * cores * tw_depthwise_floats(&d, 1);
}

/* Parts of the rows of a channel, so that all cores have some. */
static inline int32_t tw_parts_of_channel(int32_t channels, int32_t rows, int32_t cores) {
  if (channels % cores == 0 || channels >= 6 * cores) return 1;
  return tw_max(1, tw_min((4 * cores + channels - 1) / channels, (rows + 3) / 4));
}

/* The call; channels of planes and their rows and floats; rows of windows; windows of nine; of others, runs of taps and
 * their products. */
static inline int64_t tw_depthwise_work(const tw_depthwise *d, int32_t cores, double *units) {
  const int32_t channels = d->batch * d->groups, parts = tw_parts_of_channel(channels, d->out_h, cores);
  const double items = (double)tw_up((int64_t)channels * parts, cores), rows = (double)d->out_h / parts;
  const double planes = items * (double)tw_up((int64_t)rows, tw_rows_at_once(d)), own = items * rows;
  const double copied = own * d->stride_h + planes * (tw_channel_rows(d, 1) - d->stride_h);
  const double runs = planes * d->kernel_h * tw_up(d->kernel_w, 3), windows = own * d->out_w;
  const int are_nine = tw_are_nine(d);
  TW_UNITS(1, planes, copied, copied * tw_channel_pitch(d), own, are_nine ? windows : 0, are_nine ? 0 : runs,
           are_nine ? 0 : own * d->kernel_h * tw_up(d->kernel_w, 3), are_nine ? 0 : windows * d->kernel_h * tw_up(d->kernel_w, 3));
}

/* Extents of the layer become those of the tile. */
static inline tw_depthwise tw_depthwise_tile(tw_depthwise d, const tw_conv_loops *tile) {
  d.batch = (int32_t)tile->n, d.groups = (int32_t)tile->g, d.out_h = (int32_t)tile->y, d.out_w = (int32_t)tile->x;
  return tw_depthwise_in_long_rows(d);
}

static inline int64_t tw_depthwise_rows_f32_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, double *units) {
  const tw_depthwise d = tw_depthwise_tile(tw_depthwise_of_conv(p), tile);
  return tw_depthwise_work(&d, cores, units);
}

static inline int64_t tw_conv_weight_grad_channels_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile,
                                                        int32_t cores, double *units) {
  const tw_depthwise d = tw_depthwise_tile(tw_depthwise_of_filters(p), tile);
  return tw_depthwise_work(&d, cores, units);
}

static inline int64_t tw_conv_input_grad_channels_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile,
                                                       int32_t cores, double *units) {
  const tw_depthwise d = tw_depthwise_tile(tw_depthwise_of_operand(p), tile);
  return tw_depthwise_work(&d, cores, units);
}

#endif
